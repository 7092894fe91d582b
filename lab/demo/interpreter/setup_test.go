//go:build linux

package interpreter

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestParseRegister(t *testing.T) {
	for text, want := range map[string]RegisterSetting{
		"x0=5":       {register: 0, value: 5},
		"X30=0x10":   {register: 30, value: 16},
		"sp=-1":      {register: registerSP, value: 1<<64 - 1},
		"pc=4":       {register: registerPC, value: 4},
		"x7=machine": {register: 7, machine: true},
	} {
		if got, err := ParseRegister(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"x31=5": "no register x31", "x1": `"" is no number`, "y=1": "it must be x0 to x30", "pc=machine": "is no number", "x=1": "no register x",
	} {
		if _, err := ParseRegister(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseWatched(t *testing.T) {
	for text, want := range map[string]Watched{"0x100": {256, 8}, "8+24": {8, 24}} {
		if got, err := ParseWatched(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "4", "8+4", "8+", "8+0", "x"} {
		if got, err := ParseWatched(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestReadProgram(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.s": "hlt #0\n", "b.BIN": "\x00\x00\x40\xd4", "empty.s": "// nothing\n", "wrong.s": "frob\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.s", "b.BIN"} {
		if code, err := ReadProgram(filepath.Join(dir, name)); err != nil || string(code) != "\x00\x00\x40\xd4" {
			t.Errorf("%s: %x, %v", name, code, err)
		}
	}
	if _, err := ReadProgram(filepath.Join(dir, "wrong.s")); !errors.As(err, new(*SyntaxError)) {
		t.Errorf("wrong.s: %v", err)
	}
	if _, err := ReadProgram(filepath.Join(dir, "empty.s")); err == nil || !strings.Contains(err.Error(), "holds no instructions") {
		t.Errorf("empty.s: %v", err)
	}
}

// Machines with numbers of their own agree with the CPU, and one whose state was
// changed is found.
func TestVerifierFindsTheFirstMachineThatDiffers(t *testing.T) {
	v := newMachines(t, Options{Machines: 70, MemoryBytes: 4096})
	code, err := Assemble("count.s", "add x1, x0, #1\nstr x1, [x2]\nsvc #1\nhlt #0\n")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	number, err := ParseRegister("x0=machine")
	if err != nil {
		t.Fatal(err)
	}
	address, err := ParseRegister("x2=256")
	if err != nil {
		t.Fatal(err)
	}
	setup := Setup{Code: code, Registers: []RegisterSetting{number, address}}
	if err := setup.Apply(ctx, v); err != nil {
		t.Fatal(err)
	}
	idle, err := v.MachineStates(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for cycles, want := range map[uint64]int{0: -1, 100: 0} {
		verifier := Verifier{Machines: v, MemoryBytes: 4096, Setup: setup, States: idle, Cycles: cycles, Served: 1}
		if m, err := verifier.Verify(ctx); m != want || err != nil {
			t.Errorf("machines that did nothing, of %d instructions: machine %d, %v", cycles, m, err)
		}
	}
	v.Handle(1, func(*Call) error { return nil })
	if _, err := v.RunForm(ctx, "standard", 100, 100, 0); err != nil {
		t.Fatal(err)
	}
	states, err := v.MachineStates(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var cycles atomic.Int64
	verifier := Verifier{Machines: v, MemoryBytes: 4096, Setup: setup, States: states, Cycles: 100, Served: 1, Progress: func(n int) { cycles.Add(int64(n)) }}
	if m, err := verifier.Verify(ctx); m != -1 || err != nil || cycles.Load() != 4*70 {
		t.Errorf("machine %d, %v, %d instructions", m, err, cycles.Load())
	}
	states[50].X[1]++
	states[60].PC += 4
	if m, err := verifier.Verify(ctx); m != 50 || err != nil {
		t.Errorf("machine %d, %v", m, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := verifier.Verify(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
