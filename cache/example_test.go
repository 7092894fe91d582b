package cache_test

import (
	"context"
	"fmt"
	"os"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// After a driver update the binaries on disk are of no use. With kept sources the
// programs are compiled again in the background, the most used first.
func ExampleCache_Rebuild() {
	dir, err := os.MkdirTemp("", "shadercache-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	start := func(driver string) *cache.Cache {
		device := cachetest.NewDevice() // an application has a *glctx.Context
		fingerprint := device.Fingerprint()
		fingerprint.Version = driver
		device.SetFingerprint(fingerprint)
		c, err := cache.New(device, cache.Options{Dir: dir, KeepSources: true})
		if err != nil {
			panic(err)
		}
		return c
	}
	before := start("driver 1")
	for _, name := range []string{"blur", "gemm"} {
		h, err := before.Get(context.Background(), shader.MustSource(name, "void main() { /* "+name+" */ }", nil))
		if err != nil {
			panic(err)
		}
		h.Release()
	}
	if err := before.Close(); err != nil {
		panic(err)
	}

	c := start("driver 2")
	done := make(chan int)
	go func() {
		rebuilt, _ := c.Rebuild(context.Background(), nil)
		done <- len(rebuilt)
	}()
	fmt.Println(<-done, "programs were compiled again,", c.Stats().Resident, "of them stay in memory")
	if err := c.Close(); err != nil {
		panic(err)
	}
	// Output: 2 programs were compiled again, 0 of them stay in memory
}

// Preload makes several programs resident at once: those on disk are loaded, the
// others are compiled side by side.
func ExampleCache_Preload() {
	c, err := cache.New(cachetest.NewDevice(), cache.Options{MemoryOnly: true}) // an application has a *glctx.Context
	if err != nil {
		panic(err)
	}
	defer c.Close()
	blur := shader.MustSource("blur", "void main() { /* blur */ }", nil)
	edges := shader.MustSource("edges", "void main() { /* edges */ }", nil)
	_, err = c.Preload(context.Background(), []*shader.Source{blur, edges}, func(r cache.PreloadResult) {
		fmt.Println(r.Name, r.Origin, r.Err)
	})
	if err != nil {
		panic(err)
	}
	program, err := c.Get(context.Background(), edges)
	if err != nil {
		panic(err)
	}
	defer program.Release()
	fmt.Println("then", program.Name(), "is", program.Origin())
	// Output:
	// blur compiled <nil>
	// edges compiled <nil>
	// then edges is resident
}
