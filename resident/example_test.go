//go:build linux

package resident_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/resident"
)

// countText counts steps, and raises a syscall after 5000 of them.
const countText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Counts { uint count; };
uint residentStep(uvec2 step) {
    ++count;
    if (step.x == 4999u) {
        residentSignal(RESIDENT_SYSCALL, count);
        return RESIDENT_LEAVE;
    }
    return RESIDENT_GO;
}
`

// A kernel runs until it needs the host, and continues in the next run.
func Example() {
	gpu, err := shadercache.Open(shadercache.Options{NoExecutor: true, Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()

	ctx := context.Background()
	kernel := resident.Kernel{
		Source: resident.MustSource("count", countText, nil),
		Groups: 1,
		State:  []resident.State{{Block: "Counts", Bytes: 4}},
	}
	session, err := resident.New(ctx, gpu.Context, gpu.Cache, kernel, resident.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	out, err := session.Run(ctx, 7000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Signal, "after", out.Steps, "steps")
	if _, err := session.Run(ctx, 7000-out.Steps); err != nil {
		log.Fatal(err)
	}
	count, err := session.State(ctx, "count")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(count.Uint(), "steps were counted")
	// Output:
	// syscall 5000 of group 0 after 5000 steps
	// 7000 steps were counted
}
