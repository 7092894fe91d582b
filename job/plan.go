package job

import "context"

// Planner is a [Device] that makes plans of its own, as a server does.
type Planner interface {
	// OpenPlan makes a plan of layers, each a shape as docs/protocol.md describes: such as
	// "conv2d:1x3x224x224-64,7x7,s2,p3" or "gemm:512x512x512". With a name it opens the plan
	// of that name where there is one, which outlives the process, with its weights: it
	// returns ErrExists where that has other layers, and without layers ErrNotFound where
	// there is none. An exact plan has no algorithm that errs by more than a sum of products
	// does.
	OpenPlan(ctx context.Context, name string, exact bool, layers ...string) (Plan, error)
}

// Plan is a convolution, a matrix product or a chain of them on a [Device], with programs and
// weights that stay on the GPU. Its methods may be called from any goroutine; errors are
// those of the device.
type Plan interface {
	// Info returns what the plan is.
	Info() PlanInfo

	// SetWeights puts the weights and the bias of all layers, one after the other, on the
	// GPU under a version, which is not 0. With the version that is there nothing is
	// uploaded, and it returns false.
	SetWeights(ctx context.Context, version uint64, weights, bias []float32) (uploaded bool, err error)

	// Run computes the plan once, and Submit does not wait for it.
	Run(ctx context.Context, input, output []float32) error
	Submit(ctx context.Context, input, output []float32) (Pending, error)

	// SubmitBuffers is Submit from a buffer to another one: data stays on the GPU. A
	// matrix product with a beta adds to what output has; Run and Submit return ErrInvalid
	// for it.
	SubmitBuffers(ctx context.Context, input, output Buffer) (Pending, error)

	// Release ends the use of the plan. It may be called again.
	Release()
}

// PlanInfo is what a plan is: numbers of elements, and what was chosen and loaded when it was
// made.
type PlanInfo struct {
	Input   int    // that the first layer takes: of A for a matrix product
	Output  int    // that the last layer makes: of C
	Weights int    // of all layers: of B
	Bias    int    // of all layers; 0: there is none
	Version uint64 // of the weights; 0: there are none. Of a named plan that others set it may be older

	Layers   []LayerChoice
	Programs []ProgramUse
}

// LayerChoice is what was chosen for one layer.
type LayerChoice struct {
	Algorithm string  `json:"algorithm"`
	Basis     string  `json:"basis"`     // of the choice: tuned, table (shipped with the library) or ranking
	Tolerance float64 `json:"tolerance"` // the error that an output may have, as a part of the sum of the magnitudes of its products
}

// ProgramUse is a program of a plan.
type ProgramUse struct {
	Name   string
	Origin Origin
}
