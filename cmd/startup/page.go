package startup

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/report"
)

// writeReport writes the page of a cold and a warm start. Both are runs of their own,
// since tracing takes time too.
func (r *run) writeReport(work string) error {
	ctx, stop := cli.Interruptible()
	defer stop()
	dir := filepath.Join(work, "report")
	cold, err := r.traced(ctx, Cold, dir)
	if err != nil {
		return err
	}
	warm, err := r.traced(ctx, Both, dir)
	if err != nil {
		return err
	}
	page := &report.Report{Start: warm, Before: cold}
	return r.cli.WriteOutput(r.Report, 0o644, func(w io.Writer) error { return page.WriteHTML(w) })
}

// traced runs one scenario with a trace.
func (r *run) traced(ctx context.Context, scenario, dir string) (*report.Start, error) {
	own := filepath.Join(dir, scenario)
	if err := prepareScenario(scenario, filepath.Join(dir, Cold), own); err != nil {
		return nil, err
	}
	r.trace = filepath.Join(dir, scenario+".json")
	defer func() { r.trace = "" }()
	figures, err := r.child(ctx, scenario, own, r.Programs, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", scenario, err)
	}
	if !figures.Verified {
		return nil, fmt.Errorf("%s: a result was wrong", scenario)
	}
	return report.ReadFile(r.trace)
}
