package startup

import "github.com/shadercache/shadercache/cmd/cli"

// Work is the workload for one GPU: its programs are loaded one after the other, each until
// its first result is in host memory.
type Work struct{ work }

// NewWork prepares the workload with a number of programs. It needs no GPU.
func NewWork(programs int) (*Work, error) {
	w := &Work{}
	return w, w.prepare(programs)
}

// Run gets and dispatches every program on a GPU.
func (w *Work) Run(g *cli.GPU) error {
	if err := g.Context.Require45("these programs"); err != nil {
		return err
	}
	return w.run(g)
}

// Verify reports whether every element of every result is right.
func (w *Work) Verify() bool { return w.verify() }
