package cli

import (
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// NewProgress draws a bar for long work on standard error, or nothing where
// that is no terminal. Nothing is drawn for work that ends within half a second.
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

// still keeps a bar from starting a goroutine that turns its spinner, and that
// reads what the bar's user writes. The spinner turns as work goes on.
var still = progressbar.OptionSetSpinnerChangeInterval(0)
