//go:build linux

package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/shader"
)

func init() { faultgl.OnProcess("copy", copyInProcess) }

// copyInProcess has an executor that copies by the kernel, as on a GPU, copy words to the
// device and back.
func copyInProcess(dir string) (faultgl.Counters, error) {
	c, err := glctx.Open(glctx.Options{CacheDir: dir})
	if err != nil {
		return faultgl.Counters{}, err
	}
	programs, err := cache.New(c, cache.Options{Dir: dir})
	if err != nil {
		return faultgl.Counters{}, err
	}
	err = copyWords(c, programs)
	n := programs.Stats().Counters
	return faultgl.Counters{Compiles: n.Compiles, DiskHits: n.DiskHits, WrongAnswers: n.WrongAnswers}, errors.Join(err, programs.Close(), c.Close())
}

func copyWords(c *glctx.Context, programs *cache.Cache) error {
	e, err := New(c, programs, Options{test: testOptions{staged: true, poison: true}})
	if err != nil {
		return err
	}
	e.copierOnce.Do(e.loadCopier)
	ctx := context.Background()
	twice, err := programs.Get(ctx, shader.MustSource("twice", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint source[]; };
layout(std430, binding = 1) writeonly buffer Out { uint target[]; };
void main() { target[gl_GlobalInvocationID.x] = 2u * source[gl_GlobalInvocationID.x]; }`, nil))
	if err != nil {
		return errors.Join(err, e.Close())
	}
	defer twice.Release()
	words, got, want := make([]uint32, 640), make([]uint32, 640), make([]uint32, 640)
	for i := range words {
		words[i], want[i] = uint32(i*i+1), 2*uint32(i*i+1)
	}
	pending, err := e.Submit(ctx, Job{
		Dispatch: Dispatch{Program: twice, Groups: [3]uint32{10, 1, 1}},
		Inputs:   []Input{{Binding: 0, Data: glctx.Bytes(words)}},
		Outputs:  []Output{{Binding: 1, To: glctx.Bytes(got)}},
	})
	if err == nil {
		err = pending.Wait(ctx)
		pending.Release()
	}
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("copied %v", got[:8])
	}
	return errors.Join(err, e.Close())
}

// A driver that accepts the binary of the copying kernel and computes wrong costs a
// compile.
func TestLoadedCopyGivesKnownAnswer(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	faultgl.TestKnownAnswers(t, "copy", "uvec4 target[]", 1)
}
