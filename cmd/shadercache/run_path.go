package main

import (
	"context"
	"fmt"
	"image"
	"io"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d/imaging"
)

// textureSlotBytes is the size of a slot of run with textures: a picture goes through it
// strip by strip.
const textureSlotBytes = 4 << 20

// runPath is how the pixels of a filter reached the GPU.
type runPath struct {
	Filter         string  `json:"filter"`
	Path           string  `json:"path"`        // buffers or textures
	TexturesMillis float64 `json:"textures_ms"` // of a picture, without the comparison; 0 where it was wrong
	BuffersMillis  float64 `json:"buffers_ms"`  // with --path faster
}

// apply filters a picture by a path.
func (r *runResult) apply(ctx context.Context, g *cli.GPU, c imaging.Convolver, picture image.Image, f imaging.Filter, by imaging.Path) (imaging.Result, error) {
	if by == imaging.Buffers {
		return imaging.Apply(ctx, c, picture, f)
	}
	start := time.Now()
	plan, err := imaging.NewPlan(ctx, g.Executor, g.Cache, c, picture, f, by)
	if err != nil {
		return imaging.Result{}, err
	}
	defer plan.Release()
	made := time.Since(start)
	result, err := plan.Apply(ctx, picture)
	line := runPath{Filter: f.Name, Path: plan.Path().String(), BuffersMillis: cli.Milliseconds(plan.Times[imaging.Buffers])}
	if plan.Path() == imaging.Textures {
		line.TexturesMillis = cli.Milliseconds(plan.Last)
		if len(r.Paths) == 0 && by == imaging.Textures {
			r.ReadyMillis = cli.Milliseconds(r.ready + made)
			r.TimeToFirstResultMs = cli.Milliseconds(r.ready + made + plan.Last)
		}
	}
	r.Paths = append(r.Paths, line)
	return result, err
}

// printPaths writes the paths, where they were not all buffers.
func (r *runResult) printPaths(w io.Writer) {
	if len(r.Paths) == 0 {
		return
	}
	fmt.Fprint(w, "\nfilter\tpath\ttextures\tbuffers\n")
	for _, p := range r.Paths {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Filter, p.Path, knownMillis(p.TexturesMillis), knownMillis(p.BuffersMillis))
	}
}
