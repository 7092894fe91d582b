package isolate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Child answers the requests of a Pool, in a process that the pool started.
type Child struct {
	// Open opens the cache to compile with. Its Options.RecordCrashes and InTrial should
	// be set.
	Open func() (Opened, error)

	// Hint returns what the user can do about an error of Open, for StartError.
	// Default: nothing.
	Hint func(error) string

	// In and Out are the connection to the pool. Default: those that the pool passed.
	// With the default of In, the process ends when its parent does.
	In  io.Reader
	Out io.Writer

	exit func(code int) // ends the process
}

// Opened is what compiles in a child: a cache, or a function.
type Opened struct {
	Cache *cache.Cache

	// Compile compiles the program of a request where Cache is nil. What it returns
	// without an error is stored. The index is the pool's.
	Compile func(request string) Result

	ContextTime time.Duration // of opening the GL context, for ChildStart
	Close       func() error  // closes the cache, and the context behind it
}

// Serve opens the cache and answers requests until the input ends, then it closes the
// cache. A cache that cannot be opened, or that stores nothing, is reported to the
// pool and is no error. Serve ignores os.Interrupt from its call on. It ends the process
// where the parent has ended, or does not enforce its limits.
func (c Child) Serve() error {
	signal.Ignore(os.Interrupt)
	c = c.withDefaults()
	w := startWatch(c.In, c.exit)
	var l limits
	if err := json.Unmarshal([]byte(<-w.lines), &l); err != nil {
		return fmt.Errorf("isolate: no pool started this process: %w", err)
	}
	closing := limits{Timeout: max(l.Timeout, minStart)}.loosened()
	w.limit(closing)
	if err := replaceDriverCache(); err != nil {
		return c.reply(w, c.cannotStart(err))
	}
	opened, err := c.Open()
	if err != nil {
		return c.reply(w, c.cannotStart(err))
	}
	w.cache.Store(opened.Cache)
	first := message{Ready: true, ContextNanos: int64(opened.ContextTime)}
	reason := "" // why nothing that the child compiles would be stored
	if opened.Cache != nil {
		reason = opened.Cache.Stats().MemoryOnly
	}
	if reason != "" {
		first = c.cannotStart(fmt.Errorf("%w: %s", ErrMemoryOnly, reason))
	}
	err = c.reply(w, first)
	if err == nil && reason == "" {
		err = c.answer(opened, w, l)
	}
	w.limit(closing)
	return errors.Join(err, opened.Close())
}

func (c Child) withDefaults() Child {
	c.exit = os.Exit
	if c.In == nil {
		c.In = os.Stdin
	} else {
		c.exit = func(int) {}
	}
	if c.Out == nil {
		c.Out = openReplies()
	}
	return c
}

func (c Child) reply(w *watch, m message) error {
	w.idle()
	return json.NewEncoder(c.Out).Encode(m)
}

func (c Child) cannotStart(err error) message {
	m := message{Error: err.Error()}
	if c.Hint != nil {
		m.Hint = c.Hint(err)
	}
	return m
}

// answer compiles the program of each line of the input, and loads those of batches.
func (c Child) answer(o Opened, w *watch, l limits) error {
	negativeHits := uint64(0)
	for line := range w.lines {
		w.limit(l.loosened())
		var m message
		if n, ok := batchSize(line); ok && o.Cache != nil {
			m.Programs = loadBatch(o.Cache, w.take(n))
		} else {
			m.Programs = []*programMessage{answerOne(o, line, &negativeHits)}
		}
		if err := c.reply(w, m); err != nil {
			return err
		}
	}
	return w.err
}

// answerOne compiles the program of a request. negativeHits is Stats.NegativeHits before.
func answerOne(o Opened, request string, negativeHits *uint64) *programMessage {
	if o.Cache == nil {
		return newReply(o.Compile(request))
	}
	m := newReply(Result{PreloadResult: compile(o.Cache, request)})
	if m.Error != "" {
		hits := o.Cache.Stats().NegativeHits
		m.Recorded, *negativeHits = hits > *negativeHits, hits
	}
	return m
}

// newReply returns the message of a result, with its error.
func newReply(r Result) *programMessage {
	m := &programMessage{Result: r}
	if r.Err != nil {
		m.Error, m.Log = cmp.Or(r.Err.Error(), "unknown error"), compileLog(r.Err)
		m.Quarantined, m.NotStored = errors.Is(r.Err, binary.ErrQuarantined), errors.Is(r.Err, ErrNotStored)
	}
	return m
}

// loadBatch loads the programs of requests. The result is nil for one that has to be
// requested alone.
func loadBatch(programs *cache.Cache, requests []string) []*programMessage {
	messages := make([]*programMessage, len(requests))
	var sources []*shader.Source
	var indices []int // of the requests of sources
	for i, request := range requests {
		if source, err := decodeSource(request); err == nil && isLoadable(programs.Store(), source.Key()) {
			sources, indices = append(sources, source), append(indices, i)
		}
	}
	results, err := programs.Preload(context.Background(), sources, nil)
	if err != nil {
		return messages
	}
	programs.WaitStored()
	for i, r := range results {
		if r = Stored(programs, r); r.Err == nil {
			messages[indices[i]] = newReply(Result{PreloadResult: r})
		}
	}
	return messages
}

// isLoadable reports whether a store has a program and no note on it.
func isLoadable(store cache.Store, key shader.Key) bool {
	s, ok := store.(*binary.Store)
	if !ok || !s.Has(key) {
		return false
	}
	_, noted := s.Note(key)
	return !noted
}

// compile compiles the program of a request. What it returns is stored: a crash with the
// next program loses nothing, and the driver works on one program at a time.
func compile(programs *cache.Cache, request string) cache.PreloadResult {
	source, err := decodeSource(request)
	if err != nil {
		return cache.PreloadResult{Err: err}
	}
	r := cache.PreloadResult{Name: source.Name(), Key: source.Key()}
	results, err := programs.Preload(context.Background(), []*shader.Source{source}, nil)
	if r.Err = err; len(results) == 1 {
		r = results[0]
	}
	programs.WaitStored()
	return Stored(programs, r)
}

// Stored returns a result, which is ErrNotStored where the program was compiled and the
// store failed to write it. Call WaitStored before.
func Stored(programs *cache.Cache, r cache.PreloadResult) cache.PreloadResult {
	if r.Err == nil && r.Origin == job.Compiled && programs.Stats().StoreFailures > 0 {
		if _, err := programs.Store().Get(r.Key); err != nil {
			r.Origin, r.Err = 0, ErrNotStored
		}
	}
	return r
}

// maxLog bounds the log in a reply. The store keeps more of it.
const maxLog = 64 << 10

// compileLog returns the driver's log of a compile error, else "".
func compileLog(err error) string {
	failure, ok := errors.AsType[*shader.CompileError](err)
	if !ok {
		return ""
	}
	return cmp.Or(failure.Log[:min(len(failure.Log), maxLog)], "the driver gives no reason")
}
