package cli

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// NewProgress returns a progress bar on standard error, which is invisible unless that
// is a terminal.
func (o *Options) NewProgress(steps int, what string) *progressbar.ProgressBar {
	file, ok := o.Stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return progressbar.NewOptions(steps, progressbar.OptionSetVisibility(false), still)
	}
	return progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(file),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		still,
	)
}

// still makes a bar turn its spinner only when it is updated. Otherwise a goroutine
// turns it, which races with the updates.
var still = progressbar.OptionSetSpinnerChangeInterval(0)

// Progress is a progress bar of work that is done in pieces, side by side. It names the
// piece that has taken the longest. Methods may be called from any goroutine.
type Progress struct {
	what string
	bar  *progressbar.ProgressBar

	mu sync.Mutex
	// Pieces that are begun, in that order.
	begun []string
}

// NewPieces returns the progress of work in a number of pieces.
func (o *Options) NewPieces(count int, what string) *Progress {
	return &Progress{what: what, bar: o.NewProgress(count, what)}
}

// Begin shows that a piece is begun.
func (p *Progress) Begin(piece string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = append(p.begun, piece)
	p.describe()
	_ = p.bar.RenderBlank()
}

// End shows that a piece is done, whether it was begun or not.
func (p *Progress) End(piece string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.begun, piece); i >= 0 {
		p.begun = slices.Delete(p.begun, i, i+1)
	}
	p.describe()
	_ = p.bar.Add(1)
}

// Finish removes the bar.
func (p *Progress) Finish() { _ = p.bar.Finish() }

// Waiting returns the pieces that are begun: "blur.comp", "blur.comp and 2 others".
func (p *Progress) Waiting() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch len(p.begun) {
	case 0:
		return "the driver"
	case 1:
		return p.begun[0]
	case 2:
		return p.begun[0] + " and " + p.begun[1]
	}
	return fmt.Sprintf("%s and %d others", p.begun[0], len(p.begun)-1)
}

// describe sets the text before the bar. The caller holds mu.
func (p *Progress) describe() {
	text := p.what
	if len(p.begun) > 0 {
		text += " " + EscapeName(p.begun[0])
	}
	p.bar.Describe(text)
}
