package cli

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// barPatience is how long work takes before it shows a bar: most is over by then.
const barPatience = time.Second

// Bar is the progress of work that says how much is done, of all: of a transfer, for instance.
// Methods may be called from any goroutine.
type Bar struct {
	options *Options
	what    string
	began   time.Time

	mu  sync.Mutex
	bar *progressbar.ProgressBar // nil: it has not taken long
}

// NewBar returns the progress of work that begins now.
func (o *Options) NewBar(what string) *Bar {
	return &Bar{options: o, what: what, began: time.Now()}
}

// Set shows how much of all is done.
func (b *Bar) Set(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if total <= 0 || time.Since(b.began) < barPatience {
		return
	}
	if b.bar == nil {
		b.bar = b.options.NewProgress(100, b.what)
	}
	_ = b.bar.Set(int(min(100, 100*done/total)))
}

// Finish removes the bar.
func (b *Bar) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
