package workloads

import (
	"fmt"
	"io"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// InterpreterResult is what bench interpreter prints.
type InterpreterResult struct {
	bench.Header
	Rows     []InterpreterRow    `json:"rows"` // one for each measurement
	Ratios   []InterpreterRatios `json:"ratios"`
	Verified bool                `json:"verified"` // every result is right
}

// InterpreterRow is one program in one form. After each run every machine's registers,
// flags, counts and the memory that the program writes are compared with the CPU's.
type InterpreterRow struct {
	Workload   string  `json:"workload"`  // forms, builds, vectors, lengths
	Program    string  `json:"program"`   // tight, store or vector
	Form       string  `json:"form"`      // standard, continuous, mega, chained
	Machines   int     `json:"machines"`  // side by side
	Machine    string  `json:"machine"`   // what runs one: invocation or group
	Vectors    bool    `json:"vectors"`   // instructions on vectors are executed
	Registers  string  `json:"registers"` // shared or array
	Int64      bool    `json:"int64"`
	Ahead      bool    `json:"ahead"`  // the next instruction is fetched while one is executed
	Cycles     uint64  `json:"cycles"` // instructions of each machine
	Batch      int     `json:"batch"`  // instructions
	Batches    int     `json:"batches"`
	Dispatches int     `json:"dispatches"` // of kernels
	Millis     float64 `json:"ms"`
	IPS        float64 `json:"instructions_per_second"` // of all machines
	Verified   bool    `json:"verified"`                // every result is right
}

// InterpreterRatios compare rows.
type InterpreterRatios struct {
	Program          string  `json:"program"`
	Machines         int     `json:"machines"` // side by side
	ContinuousToMega float64 `json:"continuous_to_mega"`
	ChainedToMega    float64 `json:"chained_to_mega"`
	StandardToMega   float64 `json:"standard_to_mega"`
	MegaToOneMachine float64 `json:"mega_to_one_machine"` // instructions per second
}

// interpreterRatios compares the rows of one machine and of many.
func interpreterRatios(rows []InterpreterRow, many int) []InterpreterRatios {
	type key struct {
		program, form string
		machines      int
	}
	speeds := map[key]float64{}
	for _, r := range rows {
		if r.Workload != "forms" {
			continue
		}
		speeds[key{r.Program, r.Form, r.Machines}] = r.IPS
	}
	list := []InterpreterRatios{}
	if len(speeds) == 0 {
		return list
	}
	for _, machines := range []int{1, many} {
		for _, p := range interpreterPrograms {
			mega := speeds[key{p.name, "mega", machines}]
			list = append(list, InterpreterRatios{
				Program:          p.name,
				Machines:         machines,
				ContinuousToMega: speeds[key{p.name, "continuous", machines}] / mega,
				ChainedToMega:    speeds[key{p.name, "chained", machines}] / mega,
				StandardToMega:   speeds[key{p.name, "standard", machines}] / mega,
				MegaToOneMachine: mega / speeds[key{p.name, "mega", 1}],
			})
		}
	}
	return list
}

// Verdict returns an error where a machine differs from the CPU.
func (r *InterpreterResult) Verdict() error {
	if !r.Verified {
		return bench.Unverified("the state of a machine differs from the CPU's")
	}
	return nil
}

// Print writes the result for people.
func (r *InterpreterResult) Print(w io.Writer) {
	r.Header.Print(w, r.GPU)
	fmt.Fprint(w, "\nprogram\tform\tmachines\tbuild\tinstructions\ttime\tinstructions/s\n")
	for _, row := range r.Rows {
		build := row.Registers
		if row.Int64 {
			build += ", int64"
		}
		if row.Ahead {
			build += ", ahead"
		}
		if row.Vectors {
			build += ", vectors"
		}
		if row.Machine == "group" {
			build = "a group each"
		}
		verdict := ""
		if !row.Verified {
			verdict = "\twrong"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%.2f ms\t%s%s\n", row.Program, row.Form, row.Machines, build,
			row.Cycles*uint64(row.Machines), row.Millis, measure.ReadableRate(row.IPS), verdict)
	}
	if len(r.Ratios) == 0 {
		return
	}
	fmt.Fprint(w, "\nprogram\tmachines\tcontinuous/mega\tchained/mega\tstandard/mega\tto one machine\n")
	for _, q := range r.Ratios {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.1fx\n", q.Program, q.Machines, q.ContinuousToMega, q.ChainedToMega, q.StandardToMega, q.MegaToOneMachine)
	}
}
