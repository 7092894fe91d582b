//go:build linux

package imaging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/shader"
)

// filterVariable is the cache directory of a process that filters the sample picture, and
// how: by a plan, by a plan whose program was preloaded, or through textures.
const filterVariable = "IMAGING_TEST_FILTER"

// It runs in place of the tests.
func init() {
	dir, how, _ := strings.Cut(os.Getenv(filterVariable), " ")
	if dir == "" {
		return
	}
	if err := filterSample(dir, how); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func filterSample(dir, how string) error {
	gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
	if err != nil {
		return err
	}
	runner := &conv2d.Runner{Executor: gpu.Executor, Programs: gpu.Cache}
	runner.Options.Choice = &conv2d.Choice{Algorithm: "direct", Params: conv2d.DirectParams{Local: 64}}
	if err := filterOnce(gpu, runner, how); err != nil {
		return err
	}
	counters := gpu.Cache.Stats().Counters
	if err := gpu.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(counters)
}

func filterOnce(gpu *shadercache.GPU, runner *conv2d.Runner, how string) error {
	ctx, picture, filter := context.Background(), Sample(), Filters()[0]
	if how == "textures" {
		t, err := newTextureFilter(ctx, gpu.Executor, gpu.Cache, picture, filter)
		if err != nil {
			return err
		}
		defer t.release()
		out := image.NewNRGBA(image.Rectangle{Max: picture.Bounds().Size()})
		if err := t.fill(ctx, out, picture); err != nil {
			return err
		}
		return t.verify(out, picture).Err()
	}
	if how == "preloaded" {
		source, err := conv2d.Builtin("conv2d_3x3")
		if err != nil {
			return err
		}
		if _, err := gpu.Cache.Preload(ctx, []*shader.Source{source}, nil); err != nil {
			return err
		}
	}
	_, err := Apply(ctx, runner, picture, filter)
	return err
}

// A driver that accepts a binary and computes wrong costs a compile, and the result is
// right.
func TestWrongBinaryIsCompiled(t *testing.T) {
	gltest.Open(t)
	for how, text := range map[string]string{"plan": "buffer Weights", "preloaded": "buffer Weights", "textures": "sampler2D from"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			wrongBinaryIsCompiled(t, how, text)
		})
	}
}

func wrongBinaryIsCompiled(t *testing.T, how, text string) {
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Wrong, At: "glProgramBinary", Source: text})
	dir := t.TempDir()
	for start, want := range []struct{ compiles, wrong uint64 }{{1, 0}, {1, 1}, {1, 1}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(append(os.Environ(), filterVariable+"="+dir+" "+how), environment...)
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
