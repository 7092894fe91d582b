package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/lab/bench/bars"
)

// Every JSON log that this project has bars for is that of a benchmark with its flags.
func TestBarsAreOfBenchmarks(t *testing.T) {
	list, err := bars.Read(clitest.ModuleRoot + "/" + ownBars)
	if err != nil {
		t.Fatal(err)
	}
	root, _ := rootFor(io.Discard)
	logs := []string{"startup-preload.json"} // of shadercache bench startup --preload
	for _, arguments := range []string{"resident", "resident --soak 1s", "executor", "executor --soak 1s", "dispatch", "gemm", "conv2d"} {
		cmd, rest, err := root.Find(strings.Fields("bench " + arguments))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, logOf(cmd))
		if f := cmd.Flags().Lookup("soak"); f != nil {
			f.Changed = false
		}
	}
	for _, b := range list {
		if strings.HasSuffix(b.Log, ".json") && b.Log != "tune-one.json" && !slices.Contains(logs, b.Log) {
			t.Errorf("%s is of none of %v", b.Log, logs)
		}
	}
	for _, log := range logs {
		if _, err := bars.For(list, log); err != nil {
			t.Error(err)
		}
	}
}
