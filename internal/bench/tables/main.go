// Command tables writes the tables of docs/measurements.md and docs/bench/limits.md, and
// the pictures beside the former, from the raw output in docs/logs, so that no figure of theirs is typed by hand:
//
//	go run ./internal/bench/tables
//
// A table is between <!-- NAME --> and <!-- end -->. Every sentence of the documentation
// that states a measured figure is searched for, word by word, and has the figure of its
// log written into it; one that is missing is printed. With -check nothing is written, and
// what differs is an error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// page is where the tables are, from the top of the repository.
const page = "docs/measurements.md"

func main() {
	check := flag.Bool("check", false, "write nothing, and fail where something differs")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// run writes the page and the pictures below root, or only compares them.
func run(root string, check bool) error {
	l := &logs{root: filepath.Join(root, "docs", "logs")}
	old, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return err
	}
	text, err := fill(string(old), tables(l))
	if err != nil {
		return err
	}
	limits, err := limitsText(root)
	if err != nil {
		return err
	}
	files, stated := pictures(l), claims(l)
	if l.err != nil {
		return l.err
	}
	files[page], files[limitsPage] = text, limits
	for file, text := range files {
		if err := renew(root, file, text, check); err != nil {
			return err
		}
	}
	return state(root, stated, check)
}

// renew writes a file whose text differs. With check it fails instead.
func renew(root, file, text string, check bool) error {
	path := filepath.Join(root, file)
	old, err := os.ReadFile(path)
	switch {
	case err == nil && text == string(old):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case check:
		return fmt.Errorf("%s differs from its logs: go run -tags egl ./internal/bench/tables", file)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// pictures returns all pictures, by file.
func pictures(l *logs) map[string]string {
	files := map[string]string{}
	for file, log := range map[string]string{
		"docs/startup-h200.svg":     "h200/startup-preload.json",
		"docs/startup-llvmpipe.svg": "llvmpipe/startup.json",
	} {
		files[file] = startupPicture(l.startup(log), log)
	}
	return files
}

// tables returns all tables, by name.
func tables(l *logs) map[string]string {
	return map[string]string{
		"startup h200 preload":     startupTable(l.startup("h200/startup-preload.json")),
		"startup h200":             startupTable(l.startup("h200/startup.json")),
		"startup llvmpipe":         startupTable(l.startup("llvmpipe/startup.json")),
		"startup llvmpipe preload": startupTable(l.startup("llvmpipe/startup-preload.json")),
		"fleet h200":               fleetTable(l.fleets("h200/remote-1ms.json", "h200/remote-40ms-1s.json", "h200/remote-40ms.json")),
		"fleet llvmpipe":           fleetTable(l.fleets("llvmpipe/remote-1ms.json", "llvmpipe/remote-40ms-1s.json", "llvmpipe/remote-40ms.json")),
		"foreign programs":         replayTable(l, "llvmpipe/replay.json", "llvmpipe/replay-mesa25.json"),
		"resident programs":        residentProgramsTable(l),
		"programs in memory":       programsInMemoryTable(l),
		"store":                    storeTable(l),
		"executor":                 executorTable(l.executor("h200/executor.json")),
		"dispatch":                 dispatchTable(l.dispatch("h200/dispatch.json")),
		"gemm h200":                peerTable("matrix product", l.kernels("h200/gemm.json")),
		"conv2d h200":              peerTable("convolution", l.kernels("h200/conv2d.json")),
		"kernels llvmpipe":         shippedTable(l.kernels("llvmpipe/gemm.json"), l.kernels("llvmpipe/conv2d.json")),
		"resident":                 latencyTable(l.resident("h200/resident.json")),
		"persistence":              persistenceTable(l.resident("h200/resident.json")),
		"resident soak":            soakTable(l.resident("h200/resident-soak.json")),
		"interpreter":              interpreterTable(l.interpreter("h200/interpreter.json")),
		"steal":                    stealTable(l.steal("h200/steal.json")),
		"targets":                  targetsTable(l),
		"loads":                    loadsTable(l),
		"together":                 togetherTable(l),
		"gpu memory":               gpuMemoryTable(l),
	}
}
