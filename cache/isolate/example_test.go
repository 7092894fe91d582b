//go:build linux

package isolate_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/shader"
)

// serve is the part of a service's main that runs in a child, before anything else:
//
//	if isolate.IsChild() {
//		serve()
//	}
//
// Here the GPU is a fake. A service opens its own, with shadercache.Open, and closes
// cache and context in Close.
func serve() {
	err := isolate.Child{Open: func() (isolate.Opened, error) {
		c, err := cache.New(cachetest.NewDevice(), cache.Options{Dir: os.Getenv("SHADERCACHE_DIR"), RecordCrashes: true})
		if err != nil {
			return isolate.Opened{}, err
		}
		return isolate.Opened{Cache: c, Close: c.Close}, nil
	}}.Serve()
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

// A service compiles in child processes what was sent to it, since it may crash the
// driver, and finds the programs in its own cache afterwards.
func Example() {
	if isolate.IsChild() {
		serve()
	}
	path, err := os.MkdirTemp("", "isolate-example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	os.Setenv("SHADERCACHE_DIR", path) // for the children too
	dir, err := binary.OpenDir(path)
	if err != nil {
		log.Fatal(err)
	}
	pool := isolate.Pool{Jobs: 1, Dir: dir}
	sources := []*shader.Source{
		shader.MustSource("blur", "void main() { /* blur */ }", nil),
		shader.MustSource("edges", "void main() { /* edges */ }", nil),
	}
	_, err = pool.Compile(context.Background(), sources, func(r isolate.Result) {
		fmt.Println(r.Name, r.Origin, r.Err)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// blur compiled <nil>
	// edges compiled <nil>
}
