package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/shadercache/shadercache/cache"
)

// interrupts is what SIGINT and SIGTERM lead to: the work that can be called off
// ends, so that what is under way is stored. Where there is no such work, or it
// was called off before, the process ends at once, after its caches were told:
// what the driver has in hand is not to be held against it.
type interrupts struct {
	sync.Mutex
	signals chan os.Signal // nil: nobody watches
	work    map[*context.CancelFunc]struct{}
	caches  map[*cache.Cache]struct{}
}

var interruptions = interrupts{
	work:   map[*context.CancelFunc]struct{}{},
	caches: map[*cache.Cache]struct{}{},
}

// interruptible is a context that ends at the first interrupt, so that what is
// under way can be stored. A second interrupt ends the process.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	interruptions.Lock()
	defer interruptions.Unlock()
	interruptions.work[&cancel] = struct{}{}
	interruptions.watch()
	return ctx, func() {
		cancel()
		interruptions.Lock()
		defer interruptions.Unlock()
		delete(interruptions.work, &cancel)
	}
}

// opened has a cache told when the process is interrupted, until closed.
func (i *interrupts) opened(c *cache.Cache) {
	i.Lock()
	defer i.Unlock()
	i.caches[c] = struct{}{}
	i.watch()
}

func (i *interrupts) closed(c *cache.Cache) {
	i.Lock()
	defer i.Unlock()
	delete(i.caches, c)
}

// watch leaves an interrupt alone that the process ignores. The caller holds the
// lock.
func (i *interrupts) watch() {
	if i.signals != nil {
		return
	}
	i.signals = make(chan os.Signal, 2)
	signal.Notify(i.signals, syscall.SIGTERM)
	if !signal.Ignored(os.Interrupt) {
		signal.Notify(i.signals, os.Interrupt)
	}
	go func() {
		for s := range i.signals {
			i.interrupt(s)
		}
	}()
}

// interrupt calls the work off, or ends the process as the signal would have.
func (i *interrupts) interrupt(s os.Signal) {
	i.Lock()
	defer i.Unlock()
	called := len(i.work)
	for cancel := range i.work {
		(*cancel)()
		delete(i.work, cancel)
	}
	if called > 0 {
		return
	}
	for c := range i.caches {
		c.Interrupted()
	}
	signal.Reset(s)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(s)
	}
	if err != nil {
		os.Exit(exitFailed)
	}
}
