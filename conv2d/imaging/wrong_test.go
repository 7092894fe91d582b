//go:build linux

package imaging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

// filterVariable is the cache directory of a process that filters the sample picture.
const filterVariable = "IMAGING_TEST_FILTER"

// It runs in place of the tests.
func init() {
	dir := os.Getenv(filterVariable)
	if dir == "" {
		return
	}
	if err := filterSample(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func filterSample(dir string) error {
	gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
	if err != nil {
		return err
	}
	runner := &conv2d.Runner{Executor: gpu.Executor, Programs: gpu.Cache}
	runner.Options.Choice = &conv2d.Choice{Algorithm: "direct", Params: conv2d.DirectParams{Local: 64}}
	if _, err = Apply(context.Background(), runner, Sample(), Filters()[0]); err != nil {
		return err
	}
	counters := gpu.Cache.Stats().Counters
	if err := gpu.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(counters)
}

// A driver that accepts a binary and computes wrong costs a compile, and the result is
// right.
func TestWrongBinaryIsCompiled(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Wrong, At: "glProgramBinary", Source: "buffer Weights"})
	dir := t.TempDir()
	for start, want := range []struct{ compiles, wrong uint64 }{{1, 0}, {1, 1}, {1, 1}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(append(os.Environ(), filterVariable+"="+dir), environment...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("start %d: %v\n%s", start, err, &stderr)
		}
		var got struct {
			Compiles uint64 `json:"compiles"`
			Wrong    uint64 `json:"wrong_answers"`
		}
		if err := json.Unmarshal(out, &got); err != nil || got.Compiles < want.compiles || got.Wrong != want.wrong {
			t.Errorf("start %d: %+v, %v, want %+v", start, got, err, want)
		}
	}
}
