package cli

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// transferPatience is how long a transfer takes before it shows a bar: most are over by
// then.
const transferPatience = time.Second

// Transfer is the progress of a transfer over a network. Methods may be called from any
// goroutine.
type Transfer struct {
	options *Options
	what    string
	began   time.Time

	mu  sync.Mutex
	bar *progressbar.ProgressBar // nil: it has not taken long
}

// NewTransfer returns the progress of a transfer that begins now.
func (o *Options) NewTransfer(what string) *Transfer {
	return &Transfer{options: o, what: what, began: time.Now()}
}

// Set shows how many bytes of all are done.
func (t *Transfer) Set(done, total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if total <= 0 || time.Since(t.began) < transferPatience {
		return
	}
	if t.bar == nil {
		t.bar = t.options.NewProgress(100, t.what)
	}
	_ = t.bar.Set(int(min(100, 100*done/total)))
}

// Finish removes the bar.
func (t *Transfer) Finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bar != nil {
		_ = t.bar.Finish()
	}
}
