package group

import (
	"fmt"
	"io"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/bench/stats"
)

// Result is what Run measured.
type Result struct {
	bench.Header
	Devices     int          `json:"devices"` // that were compared with the first of them
	Rows        []Row        `json:"rows"`
	Starts      []StartRow   `json:"starts"`
	Messages    []MessageRow `json:"messages"`
	Moves       []MoveRow    `json:"moves"`
	Verified    bool         `json:"verified"` // every result was right
	Interrupted bool         `json:"interrupted,omitempty"`
}

// Row compares the rate of one device with that of all.
type Row struct {
	Workload string       `json:"workload"`
	Detail   string       `json:"detail"`
	Unit     string       `json:"unit"`
	One      stats.Spread `json:"one"`
	All      stats.Spread `json:"all"`
	Ratio    float64      `json:"ratio"`             // of the medians
	Share    float64      `json:"share,omitempty"`   // rate of one device with its share alone; of problems that are split
	Host     *HostTimes   `json:"host_us,omitempty"` // of a step of a wave over all devices
	Jobs     []uint64     `json:"jobs,omitempty"`    // that the group gave to each device; of rows of jobs
	Verified bool         `json:"verified"`
}

// HostTimes is where the host's time of a step goes, in microseconds: the GPUs work
// meanwhile.
type HostTimes struct {
	Submit     float64 `json:"submit"`     // jobs
	Boundaries float64 `json:"boundaries"` // waiting for them
	Interiors  float64 `json:"interiors"`  // waiting for those of the step before
	Swap       float64 `json:"swap"`       // faces
}

// StartRow is the start of a process that loads programs, in milliseconds since the process
// began. Medians of several processes.
type StartRow struct {
	Scenario  string    `json:"scenario"` // one or all
	GPU       string    `json:"gpu"`
	Driver    string    `json:"driver"`
	Programs  int       `json:"programs"`
	Contexts  []float64 `json:"contexts_ms"` // each, how long making it took
	Opened    []float64 `json:"opened_ms"`   // when each device was open
	FirstDone float64   `json:"first_ms"`    // when the first device had all results
	AllDone   float64   `json:"all_ms"`      // when all had
	Loads     []float64 `json:"loads_ms"`    // from a device being open to its results
	Compiles  uint64    `json:"compiles"`    // on all devices
	Verified  bool      `json:"verified"`
}

// MessageRow is the time of a message from one device to another and back.
type MessageRow struct {
	Requested  string  `json:"requested"` // strategy of the sessions, or actors
	Got        string  `json:"got"`
	Why        string  `json:"why,omitempty"` // they differ
	Micros     float64 `json:"us"`            // mean of the round trips
	RoundTrips int     `json:"round_trips"`
	IdleAlone  float64 `json:"idle_alone_cpu_percent,omitempty"` // of both sessions without a message, where they forward none
	Idle       float64 `json:"idle_cpu_percent,omitempty"`       // the same where they forward to each other
	Verified   bool    `json:"verified"`                         // every answer was right
}

// MoveRow is a session that continues on another device from a checkpoint.
type MoveRow struct {
	Workload      string  `json:"workload"`
	Bytes         int64   `json:"bytes"` // of the checkpoint
	SaveMillis    float64 `json:"save_ms"`
	RestoreMillis float64 `json:"restore_ms"`
	Steps         uint64  `json:"steps"`    // on both devices after it
	Verified      bool    `json:"verified"` // both have the same bits
}

// Print writes the result as a table.
func (r *Result) Print(w io.Writer) {
	r.Header.Print(w, fmt.Sprintf("several devices, %d: %s", r.Devices, r.GPU))
	if len(r.Rows) > 0 {
		fmt.Fprintln(w, "\nworkload\tone device\tall devices\t\tratio\ta share\tjobs\twhat")
	}
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%s\t%.2f\t%s\t%s\t%s\n", row.Workload, row.One.Median, row.All.Median, row.Unit, row.Ratio, row.share(), row.jobs(), row.Detail)
		if h := row.Host; h != nil {
			fmt.Fprintf(w, "\t\t\t\t\t\t\tthe host's us a step: submits %.0f, waits for boundaries %.0f, for interiors %.0f, swaps %.0f\n", h.Submit, h.Boundaries, h.Interiors, h.Swap)
		}
	}
	if len(r.Starts) > 0 {
		fmt.Fprintln(w, "\nstart\tprograms\tcontexts ms\topened ms\tloads ms\tfirst device ms\tall devices ms\tcompiles")
	}
	for _, s := range r.Starts {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\n", s.Scenario, s.Programs, s.Contexts, s.Opened, s.Loads, s.FirstDone, s.AllDone, s.Compiles)
	}
	if len(r.Messages) > 0 {
		fmt.Fprintln(w, "\nmessage and back by\tgot\tus\tround trips\tidle CPU %\twithout routes")
	}
	for _, m := range r.Messages {
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%d\t%.2f\t%.2f\n", m.Requested, m.Got, m.Micros, m.RoundTrips, m.Idle, m.IdleAlone)
	}
	if len(r.Moves) > 0 {
		fmt.Fprintln(w, "\nmoved\tbytes\tsave ms\trestore ms\tsteps after it\tsame bits")
	}
	for _, m := range r.Moves {
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%d\t%v\n", m.Workload, m.Bytes, m.SaveMillis, m.RestoreMillis, m.Steps, m.Verified)
	}
	fmt.Fprintln(w)
	bench.PrintVerified(w, r.Verified, "all results were right", "RESULTS WERE WRONG")
}

// share returns the rate of a share for the table.
func (r *Row) share() string {
	if r.Share == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g", r.Share)
}

// jobs returns the jobs of each device for the table.
func (r *Row) jobs() string {
	if len(r.Jobs) == 0 {
		return "-"
	}
	return fmt.Sprint(r.Jobs)
}

// Verdict returns an error where a result was wrong.
func (r *Result) Verdict() error {
	if !r.Verified {
		return bench.Unverified("results of several devices were wrong")
	}
	return nil
}
