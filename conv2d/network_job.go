//go:build linux

package conv2d

import (
	"fmt"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
)

// JobOfBytes is Job for tensors that are bytes already, such as memory that processes
// share: 4 for each element, little endian.
func (n *Network) JobOfBytes(input, output []byte) (executor.Job, error) {
	if n.KeepsOutput() {
		return executor.Job{}, n.errKeepsOutput()
	}
	if len(input) != 4*n.InputLen() || len(output) != 4*n.OutputLen() {
		return executor.Job{}, fmt.Errorf("conv2d: %d bytes in and %d out, the network takes %d and makes %d",
			len(input), len(output), 4*n.InputLen(), 4*n.OutputLen())
	}
	dispatches, err := n.dispatches(nil, nil)
	if err != nil {
		return executor.Job{}, err
	}
	job := JobOf(dispatches...)
	if binding, ok := n.first().sequence.IndexOf(kernel.Input); ok {
		job.Inputs = []executor.Input{{Binding: binding, Data: input}}
	}
	binding, _ := n.last().sequence.IndexOf(kernel.Output)
	job.Outputs = []executor.Output{{Binding: binding, Dirty: true, To: output}}
	return job, nil
}

// Dispatches returns one run of all layers on device memory, for a job. It fails for
// memory that is too small.
func (n *Network) Dispatches(input, output *executor.Memory) ([]executor.Dispatch, error) {
	if input == nil || output == nil || input == output {
		return nil, fmt.Errorf("conv2d: a network needs memory for its input and other memory for its output")
	}
	if input.Size() < 4*n.InputLen() || output.Size() < 4*n.OutputLen() {
		return nil, fmt.Errorf("conv2d: memory of %d bytes in and %d out, the network needs %d and %d",
			input.Size(), output.Size(), 4*n.InputLen(), 4*n.OutputLen())
	}
	return n.dispatches(input, output)
}
