package cachetest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// renderer is code to be tested: it continues after the GPU was reset.
type renderer struct {
	open     func() *cache.Cache // with a context of its own
	programs *cache.Cache
}

// draw gets a program, from a new context when the old one is lost.
func (r *renderer) draw(source *shader.Source) error {
	program, err := r.programs.Get(context.Background(), source)
	if errors.Is(err, shader.ErrContextLost) {
		if err := r.programs.Close(); err != nil { // its handles are released by now
			return err
		}
		r.programs = r.open()
		program, err = r.programs.Get(context.Background(), source)
	}
	if err != nil {
		return err
	}
	defer program.Release()
	fmt.Println(program.Name(), program.Origin())
	return nil
}

// A test can lose the context, which a GPU does not do on request.
func ExampleDevice_LoseContext() {
	var gpu *cachetest.Device
	store := cachetest.NewStore() // the disk, which outlives contexts
	open := func() *cache.Cache {
		gpu = cachetest.NewDevice()
		c, err := cache.New(gpu, cache.Options{Store: store})
		if err != nil {
			panic(err)
		}
		return c
	}
	r := &renderer{open, open()}
	blur := shader.MustSource("blur", "void main() { /* blur */ }", nil)
	edges := shader.MustSource("edges", "void main() { /* edges */ }", nil)
	fmt.Println(r.draw(blur))
	if err := r.programs.Flush(); err != nil { // its binary is read and stored in the background
		panic(err)
	}
	gpu.LoseContext()
	fmt.Println(r.draw(edges)) // compiled by another device
	fmt.Println(r.draw(blur))
	fmt.Println(r.programs.Close(), gpu.Live())
	// Output:
	// blur compiled
	// <nil>
	// edges compiled
	// <nil>
	// blur disk
	// <nil>
	// <nil> []
}
