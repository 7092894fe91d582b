//go:build linux && cgo

package glctx_test

import (
	"context"
	"log"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// toolkit represents GLFW, SDL or an engine.
type toolkit struct{}

func openWindow() toolkit          { return toolkit{} }
func (toolkit) MakeCurrent()       {}
func (toolkit) ShouldClose() bool  { return true }
func (toolkit) DrawAndSwap(uint32) {}

// A render loop that owns its context and its thread uses programs from the cache.
// Programs are compiled beside it, and a frame gives 2 ms to loading them.
func ExampleAdopt() {
	glctx.ManageDriverCache(glctx.Options{}) // before the toolkit loads the driver
	window := openWindow()
	window.MakeCurrent()
	adopted, err := glctx.Adopt(glctx.Options{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	gpu, err := shadercache.New(adopted, shadercache.Options{CompileBeside: true, NoExecutor: true})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()

	source := shader.MustSource("increment", increment, nil)
	go gpu.Cache.Preload(context.Background(), []*shader.Source{source}, nil)
	for !window.ShouldClose() {
		program, err := gpu.Cache.Get(context.Background(), source)
		if err != nil {
			log.Fatal(err)
		}
		window.DrawAndSwap(program.Program())
		program.Release()
		gpu.Context.PollFor(2 * time.Millisecond) // runs callbacks of other goroutines
	}
}
