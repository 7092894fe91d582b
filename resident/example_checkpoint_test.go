//go:build linux

package resident_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
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

// A kernel moves: from its session into a file, and from there into a session on
// another context, which may be another GPU's, in another process.
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
		fmt.Println("goes on after step", session.Progress())
		if _, err := session.Run(ctx, 1000); err != nil {
			return err
		}
		sum, err := session.State(ctx, "sum")
		if err != nil {
			return err
		}
		fmt.Println("the first 2000 numbers make", sum.Uint())
		return nil
	})
	// Output:
	// goes on after step 1000
	// the first 2000 numbers make 1999000
}

// onNewContext makes a session of the kernel on a context of its own.
func onNewContext(ctx context.Context, fn func(*resident.Session) error) {
	gpu, err := glctx.Open(glctx.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	programs, err := cache.New(gpu, cache.Options{MemoryOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer programs.Close()
	session, err := resident.New(ctx, gpu, programs, resident.Kernel{
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
