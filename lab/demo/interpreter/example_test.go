package interpreter_test

import (
	"fmt"

	"github.com/shadercache/shadercache/lab/demo/interpreter"
)

// A program is assembled and run on the CPU.
func ExampleReference() {
	code, err := interpreter.Assemble("sum.s", `
		movz x0, #10
	next:
		add  x1, x1, x0
		subs x0, x0, #1
		b.ne next
		hlt  #0`)
	if err != nil {
		fmt.Println(err)
		return
	}
	machine, err := interpreter.NewReference(4096, code, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	machine.Run(1000)
	fmt.Println(machine.Signal, machine.X[1], machine.Cycles)
	// Output: halt 55 32
}
