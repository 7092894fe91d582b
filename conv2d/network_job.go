//go:build linux

package conv2d

import (
	"fmt"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

// JobOfBytes is Job for tensors that are bytes already, such as memory that processes
// share: 4 for each element, little endian.
func (n *Network) JobOfBytes(input, output []byte) (job.Job, error) {
	if n.KeepsOutput() {
		return job.Job{}, n.errKeepsOutput()
	}
	if len(input) != 4*n.InputLen() || len(output) != 4*n.OutputLen() {
		return job.Job{}, fmt.Errorf("conv2d: %d bytes in and %d out, the network takes %d and makes %d",
			len(input), len(output), 4*n.InputLen(), 4*n.OutputLen())
	}
	dispatches, err := n.dispatches(nil, nil)
	if err != nil {
		return job.Job{}, err
	}
	j := JobOf(dispatches...)
	if binding, ok := n.first().sequence.IndexOf(kernel.Input); ok {
		j.Inputs = []job.Input{{Binding: binding, Data: input}}
	}
	binding, _ := n.last().sequence.IndexOf(kernel.Output)
	j.Outputs = []job.Output{{Binding: binding, Dirty: true, To: output}}
	return j, nil
}

// Dispatches returns one run of all layers on device memory, for a job. It fails for
// memory that is too small.
func (n *Network) Dispatches(input, output *executor.Memory) ([]job.Dispatch, error) {
	if input == nil || output == nil || input == output {
		return nil, fmt.Errorf("conv2d: a network needs memory for its input and other memory for its output")
	}
	if input.Size() < 4*n.InputLen() || output.Size() < 4*n.OutputLen() {
		return nil, fmt.Errorf("conv2d: memory of %d bytes in and %d out, the network needs %d and %d",
			input.Size(), output.Size(), 4*n.InputLen(), 4*n.OutputLen())
	}
	return n.dispatches(input, output)
}
