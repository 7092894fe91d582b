//go:build linux

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/cmd/cli"
)

// TestVerifyReadsTunings has a tuning that the store accepts and no plan can read: verify
// names it, and a repair deletes it.
func TestVerifyReadsTunings(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, err := binary.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	store, err := dir.Store(cachetest.NewDevice().Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for problem, choice := range map[string]string{
		"gemm:4x4x4": `{"algorithm":"gemm_row"}`, "gemm:5x4x4": `{"algorithm":"gemm_tiled","params":{"tile":32,"local":8}}`, "gemm:6x4x4": `{"algorithm":"of another version"}`,
	} {
		if err := store.PutTuning(binary.Tuning{Problem: problem, Choice: []byte(choice), Nanos: 1}); err != nil {
			t.Fatal(err)
		}
	}
	o := &options{Options: cli.Options{Dir: path, Stdout: io.Discard, Stderr: io.Discard, LogLevel: 4}}
	for _, repair := range []bool{false, true} {
		r, err := o.verify(repair)
		if err != nil {
			t.Fatal(err)
		}
		if r.Damaged != 2 || r.Tunings != 1 || (r.Fixed == 2) != repair || len(r.Problems) != 2 || !strings.Contains(r.Problems[0].Reason, "the tuning of gemm:") {
			t.Errorf("repair %v: %+v", repair, r)
		}
	}
	if r, err := o.verify(false); err != nil || r.Damaged != 0 {
		t.Errorf("after the repair: %+v, %v", r, err)
	}
}
