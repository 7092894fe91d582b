//go:build linux

package interpreter_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/lab/demo/interpreter"
)

// Four machines run the same program with different registers, first in batches, and then
// in one batch from an address in the middle. The host serves their system calls.
func Example() {
	gpu, err := shadercache.Open(shadercache.Options{NoExecutor: true, Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()

	ctx := context.Background()
	machines, err := interpreter.New(ctx, gpu.Context, gpu.Cache, interpreter.Options{Machines: 4, MemoryBytes: 4096, BatchCycles: 10})
	if err != nil {
		log.Fatal(err)
	}
	defer machines.Close()
	code, err := interpreter.Assemble("square.s", `
		add  x2, x0, xzr
	next:	add  x1, x1, x0    // x0 times
		subs x2, x2, #1
		b.ne next
		svc  #1            // at 0x10
		hlt  #0`)
	if err != nil {
		log.Fatal(err)
	}
	if err := machines.Load(ctx, code, 0); err != nil {
		log.Fatal(err)
	}
	if err := machines.SetRegisters(ctx, 0, func(machine int) uint64 { return uint64(machine + 3) }); err != nil {
		log.Fatal(err)
	}
	machines.Handle(1, func(c *interpreter.Call) error {
		fmt.Printf("machine %d: %d squared is %d\n", c.Machine, c.X[0], c.X[1])
		return nil
	})
	result, err := machines.RunContinuous(ctx, 100, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Signal, "at", result.FinalPC, "after", result.Cycles, "instructions of all, calls:", result.Syscalls)

	if err := machines.SetPC(ctx, 0x14); err != nil {
		log.Fatal(err)
	}
	result, err = machines.RunMega(ctx, 1000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Signal, "at", result.FinalPC, "after", result.Cycles, "more")
	// Output:
	// machine 0: 3 squared is 9
	// machine 1: 4 squared is 16
	// machine 2: 5 squared is 25
	// machine 3: 6 squared is 36
	// halt at 20 after 66 instructions of all, calls: 4
	// halt at 20 after 4 more
}
