//go:build linux && cgo

package glctx_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// TestContextsInParallel opens, uses and closes contexts on several threads at once.
func TestContextsInParallel(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	const threads, rounds = 4, 4
	dir := t.TempDir()
	var all sync.WaitGroup
	for n := range threads {
		all.Go(func() {
			for round := range rounds {
				if err := openAndCompile(dir, fmt.Sprintf("%d.0", 2+n*rounds+round)); err != nil {
					t.Errorf("thread %d, round %d: %v", n, round, err)
				}
			}
		})
	}
	all.Wait()
}

// openAndCompile opens a context, compiles a program that no other call compiles, and
// closes the context.
func openAndCompile(dir, factor string) error {
	c, err := glctx.Open(glctx.Options{CacheDir: dir})
	if err != nil {
		return err
	}
	defer c.Close()
	source := shader.MustSource("parallel", doubler, shader.Defines{"FACTOR": factor})
	c.Compile(context.Background(), []*shader.Source{source}, func(_ int, p shader.Program, compileErr error) {
		if err = compileErr; err == nil {
			c.Delete(p.ID)
		}
	})
	return err
}
