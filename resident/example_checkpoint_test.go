//go:build linux

package resident_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/resident"
)

// sumText adds up the numbers of its steps.
const sumText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Sums { uint sum; };
uint residentStep(uvec2 step) {
    sum += step.x;
    return RESIDENT_GO;
}
`

// A checkpoint moves a kernel from a session to a file, and to a session on another
// context, which may be that of another GPU or process.
func ExampleCheckpointFile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "sum")

	onNewContext(ctx, func(session *resident.Session) error {
		if _, err := session.Run(ctx, 1000); err != nil {
			return err
		}
		checkpoint, err := session.Checkpoint(ctx)
		if err != nil {
			return err
		}
		_, err = resident.OpenCheckpointFile(path).Save(checkpoint)
		return err
	})
	onNewContext(ctx, func(session *resident.Session) error {
		checkpoint, err := resident.OpenCheckpointFile(path).Load()
		if err != nil {
			return err
		}
		if err := session.Restore(ctx, checkpoint); err != nil {
			return err
		}
		fmt.Println("continues after step", session.Progress())
		if _, err := session.Run(ctx, 1000); err != nil {
			return err
		}
		sum, err := session.State(ctx, "sum")
		if err != nil {
			return err
		}
		fmt.Println("the sum of the first 2000 numbers is", sum.Uint())
		return nil
	})
	// Output:
	// continues after step 1000
	// the sum of the first 2000 numbers is 1999000
}

// onNewContext calls fn with a session of the kernel on a new context.
func onNewContext(ctx context.Context, fn func(*resident.Session) error) {
	gpu, err := shadercache.Open(shadercache.Options{NoExecutor: true, Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	session, err := resident.New(ctx, gpu.Context, gpu.Cache, resident.Kernel{
		Source: resident.MustSource("sum", sumText, nil),
		Groups: 1,
		State:  []resident.State{{Block: "Sums", Bytes: 4}},
	}, resident.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := fn(session); err != nil {
		log.Fatal(err)
	}
}
