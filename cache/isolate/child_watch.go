package isolate

import (
	"bufio"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/cache"
)

// maxRequest bounds the length of a request.
const maxRequest = 64 << 20

// watch ends a child whose parent has ended, also while the driver works, and one that
// exceeds limits that its parent should have enforced. It does not depend on the
// parent's threads: an input that ends shows that the whole process did.
type watch struct {
	lines chan string // of the input; closed at its end
	err   error       // of reading; set before lines is closed
	exit  func(code int)

	cache atomic.Pointer[cache.Cache] // nil until it is open
	busy  atomic.Bool                 // the parent waits for a reply
	meter atomic.Pointer[meter]       // nil while there is no limit
}

func startWatch(input io.Reader, exit func(code int)) *watch {
	w := &watch{lines: make(chan string), exit: exit}
	w.busy.Store(true)
	go w.read(input)
	go w.enforce()
	return w
}

// read passes on the lines of the input. A parent closes the input of a child that is
// not busy.
func (w *watch) read(input io.Reader) {
	defer close(w.lines)
	s := bufio.NewScanner(input)
	s.Buffer(nil, maxRequest)
	for s.Scan() {
		w.busy.Store(true)
		w.lines <- s.Text()
	}
	w.err = s.Err()
	if w.busy.Load() {
		if c := w.cache.Load(); c != nil {
			c.Interrupted() // no program is blamed for the end of the process
		}
		w.exit(1)
	}
}

// take returns the next n lines, or fewer where the input ends.
func (w *watch) take(n int) (lines []string) {
	for range n {
		line, ok := <-w.lines
		if !ok {
			break
		}
		lines = append(lines, line)
	}
	return lines
}

// limit starts to enforce limits.
func (w *watch) limit(l limits) { w.meter.Store(newMeter(l, os.Getpid())) }

// idle ends what limit started. The parent may close the input from now on.
func (w *watch) idle() {
	w.meter.Store(nil)
	w.busy.Store(false)
}

// enforceTick is how often a child checks its limits, which its parent checks first.
const enforceTick = 200 * time.Millisecond

func (w *watch) enforce() {
	for range time.Tick(enforceTick) {
		if m := w.meter.Load(); m != nil && m.exceeded() != nil {
			w.exit(1)
		}
	}
}
