package cli

import (
	"os"
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
