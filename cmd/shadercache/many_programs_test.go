package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// fillStore puts programs of a driver that does not exist into a cache directory.
func fillStore(t *testing.T, path string, programs int) {
	t.Helper()
	dir, err := binary.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	driver := binary.Fingerprint{Vendor: "Test", Renderer: "Many", Version: "1", Formats: []uint32{1}, PointerBits: 64}
	store, err := dir.Store(driver)
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte(strings.Repeat("MAD.F32 R0, R1, R2, R0;\n", 50))
	var uses []binary.Use
	for n := range programs {
		name := fmt.Sprintf("conv2d_%d", n)
		blob := &binary.Blob{
			Key: shader.MustSource(name, name, nil).Key(), Fingerprint: driver.Digest(), Format: 1,
			Payload: payload, Name: name, Created: time.Now(), WorkGroup: [3]uint32{1, 1, 1},
		}
		data, err := blob.Encode()
		if err != nil {
			t.Fatal(err)
		}
		key := blob.Key.String()
		writeBlobFile(t, filepath.Join(store.Path(), "blobs", key[:2], key+".bin"), data)
		uses = append(uses, binary.Use{Key: blob.Key, Hits: 1, LastUse: time.Now(), LoadNanos: 1000})
	}
	if err := store.Record(uses, binary.Counters{Compiles: uint64(programs), DiskHits: 1}); err != nil {
		t.Fatal(err)
	}
}

// writeBlobFile writes a file as Put does, but without fsync, for a hundred thousand of
// them.
func writeBlobFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// commandRun is the output and the cost of a run of the command.
type commandRun struct {
	stdout []byte
	took   time.Duration
	most   int64 // bytes of memory
}

func runCommand(t *testing.T, dir string, args ...string) commandRun {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, args...)
	cmd.Args[0] = "shadercache"
	cmd.Env = append(os.Environ(), "SHADERCACHE_DIR="+dir)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	most := make(chan int64)
	go func() { most <- watchMemory(cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	took := time.Since(begin)
	close(ended)
	r := commandRun{out.Bytes(), took, <-most}
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, messages.String())
	}
	return r
}

// watchMemory returns the peak memory of a process, as last read before its end. The
// peak that wait4 reports includes memory of the process that forked it.
func watchMemory(pid int, ended <-chan struct{}) (most int64) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if _, after, found := strings.Cut(string(status), "VmHWM:"); err == nil && found {
			var kib int64
			if _, err := fmt.Sscan(after, &kib); err == nil {
				most = max(most, kib<<10)
			}
		}
		select {
		case <-ended:
			return most
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestCommandsOnManyPrograms runs commands on a directory of a thousand programs, or of
// 100,000 in a soak. It logs times, and asserts that all programs are found and that
// memory stays within a bound for each command and program.
func TestCommandsOnManyPrograms(t *testing.T) {
	programs := 1000
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		programs = 100_000
	}
	dir := t.TempDir()
	fillStore(t, dir, programs)
	run := func(mib, bytesAProgram int64, args ...string) []byte {
		r := runCommand(t, dir, args...)
		t.Logf("%s: %v, %d MiB", strings.Join(args, " "), r.took.Round(time.Millisecond), r.most>>20)
		if limit := mib<<20 + bytesAProgram*int64(programs); r.most > limit {
			t.Errorf("%q took %d MiB, more than %d", args, r.most>>20, limit>>20)
		}
		return r.stdout
	}
	lines := bytes.Count(run(96, 300, "list"), []byte("conv2d_"))
	var listed listResult
	if err := json.Unmarshal(run(96, 300, "list", "--json"), &listed); err != nil {
		t.Fatal(err)
	}
	if lines != programs || len(listed.Programs) != programs {
		t.Errorf("list has %d lines, %d programs in JSON", lines, len(listed.Programs))
	}
	var verified verifyResult
	if err := json.Unmarshal(run(96, 0, "verify", "--json"), &verified); err != nil || verified.Good != programs {
		t.Errorf("verify: %+v, %v", verified.VerifyReport, err)
	}
	var pruned pruneResult // its JSON, 100 bytes a program, is in two buffers that grow by doubling
	if err := json.Unmarshal(run(96, 800, "prune", "--max-bytes", "1", "--dry-run", "--json"), &pruned); err != nil || pruned.Programs != programs {
		t.Errorf("prune: %+v, %v", pruned.PruneReport, err)
	}
	// Half of it is what compressing takes under the race detector.
	run(160, 1000, "export", filepath.Join(t.TempDir(), "many.scb"))
	if out := run(96, 0, "stats", "--prometheus"); !bytes.Contains(out, []byte(fmt.Sprintf("} %d\n", programs))) {
		t.Errorf("stats: %s", out)
	}
}
