package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"weak"

	"github.com/shadercache/shadercache/cache"
)

// interrupts handles SIGINT and SIGTERM. The first signal cancels all work that
// Interruptible started, so that compiled programs are stored. Without such work, or
// once it is cancelled, a signal ends the process at once, and its caches clear their
// crash marks: no program is blamed for a process that the user ended.
type interrupts struct {
	sync.Mutex
	signals chan os.Signal // nil until the first user
	work    map[*interruptible]struct{}
	caches  []weak.Pointer[cache.Cache]
}

// interruptible is work that a signal cancels.
type interruptible struct {
	cancel  context.CancelFunc
	explain func() // prints what it waits for then
}

var interruptions = interrupts{work: map[*interruptible]struct{}{}}

// Interruptible returns a context that ends at the first interrupt, so that finished
// work can be stored. A second interrupt ends the process.
func Interruptible() (context.Context, context.CancelFunc) { return newInterruptible(func() {}) }

// Interruptible is the function Interruptible, but the first interrupt prints what the
// command waits for.
func (o *Options) Interruptible(waiting func() string) (context.Context, context.CancelFunc) {
	return newInterruptible(func() {
		fmt.Fprintf(o.Stderr, "shadercache: interrupted: waiting for %s; a second interrupt ends it at once\n", EscapeText(waiting()))
	})
}

func newInterruptible(explain func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	interruptions.Lock()
	defer interruptions.Unlock()
	w := &interruptible{cancel, explain}
	interruptions.work[w] = struct{}{}
	interruptions.watch()
	return ctx, func() {
		cancel()
		interruptions.Lock()
		defer interruptions.Unlock()
		delete(interruptions.work, w)
	}
}

// ClearMarksOnInterrupt makes c clear its crash marks when an interrupt ends the
// process. It keeps no cache in memory; a closed one has no marks.
func ClearMarksOnInterrupt(c *cache.Cache) {
	interruptions.Lock()
	defer interruptions.Unlock()
	interruptions.caches = append(interruptions.caches, weak.Make(c))
	interruptions.watch()
}

// Notify has signals get those of a list that the process does not ignore: what it starts has to
// ignore the others too.
func Notify(signals chan<- os.Signal, list ...os.Signal) {
	for _, s := range list {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
}

// watch starts handling signals. The caller holds the lock.
func (i *interrupts) watch() {
	if i.signals != nil {
		return
	}
	i.signals = make(chan os.Signal, 2)
	Notify(i.signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		for s := range i.signals {
			i.interrupt(s)
		}
	}()
}

// interrupt cancels the work, or ends the process as the signal would have.
func (i *interrupts) interrupt(s os.Signal) {
	i.Lock()
	defer i.Unlock()
	cancelled := len(i.work)
	for w := range i.work {
		w.cancel()
		delete(i.work, w)
		w.explain()
	}
	if cancelled > 0 {
		return
	}
	for _, pointer := range i.caches {
		if c := pointer.Value(); c != nil {
			c.Interrupted()
		}
	}
	signal.Reset(s)
	if err := syscall.Kill(os.Getpid(), s.(syscall.Signal)); err != nil {
		os.Exit(ExitFailed)
	}
}
