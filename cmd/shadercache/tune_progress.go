package main

import (
	"fmt"

	"github.com/schollz/progressbar/v3"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/tune"
	"github.com/shadercache/shadercache/internal/cli"
)

// tuneProgress shows the candidates of each problem, or where several GPUs measure the
// problems. Methods may be called from any goroutine then.
type tuneProgress struct {
	o        *options
	problems *cli.Progress // of several GPUs; else nil

	total, begun int
	bar          *progressbar.ProgressBar // of one problem
	what         string
}

func (t *tuning) newProgress(total int, several bool) *tuneProgress {
	p := &tuneProgress{o: t.o, total: total}
	if several {
		p.problems = t.o.NewPieces(total, "tuning")
	}
	return p
}

func (p *tuneProgress) begin(s conv2d.Shape) {
	if p.problems != nil {
		p.problems.Begin(s.String())
		return
	}
	p.begun++
	p.bar, p.what = nil, fmt.Sprintf("%v (%d of %d)", s, p.begun, p.total)
}

// candidate shows that a candidate is done. The bar gets its length with the first.
func (p *tuneProgress) candidate(_, total int, _ tune.Candidate) {
	if p.problems != nil {
		return
	}
	if p.bar == nil {
		p.bar = p.o.NewProgress(total, p.what)
	}
	_ = p.bar.Add(1)
}

func (p *tuneProgress) end(s conv2d.Shape) {
	if p.problems != nil {
		p.problems.End(s.String())
	} else if p.bar != nil {
		_ = p.bar.Finish()
	}
}

func (p *tuneProgress) finish() {
	if p.problems != nil {
		p.problems.Finish()
	}
}
