package cachetest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
)

// renderer is code to be tested: it goes on after the GPU was reset.
type renderer struct {
	open     func() *cache.Cache // with a context of its own
	programs *cache.Cache
}

// draw gets a program, from a new context where the old one is lost.
func (r *renderer) draw(source *binary.Source) error {
	program, err := r.programs.Get(context.Background(), source)
	if errors.Is(err, binary.ErrContextLost) {
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

// A test loses the context, which no GPU does on request.
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
	blur := binary.MustSource("blur", "void main() { /* blur */ }", nil)
	edges := binary.MustSource("edges", "void main() { /* edges */ }", nil)
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
