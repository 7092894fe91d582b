//go:build linux

package glctx_test

import (
	"context"
	"log"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// toolkit stands for GLFW, SDL or an engine.
type toolkit struct{}

func openWindow() toolkit          { return toolkit{} }
func (toolkit) MakeCurrent()       {}
func (toolkit) ShouldClose() bool  { return true }
func (toolkit) DrawAndSwap(uint32) {}

// A render loop that owns its context and its thread uses programs from the
// cache, and lets others have their turn once a frame.
func ExampleAdopt() {
	glctx.ManageDriverCache(glctx.Options{}) // before the toolkit loads the driver
	window := openWindow()
	window.MakeCurrent()
	gpu, err := glctx.Adopt(glctx.Options{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	programs, err := cache.New(gpu, cache.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer programs.Close()

	source := shader.MustSource("increment", increment, nil)
	for !window.ShouldClose() {
		program, err := programs.Get(context.Background(), source)
		if err != nil {
			log.Fatal(err)
		}
		window.DrawAndSwap(program.Program())
		program.Release()
		gpu.Poll() // what other goroutines asked for
	}
}
