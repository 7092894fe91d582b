package isolate

import (
	"bufio"
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
	"github.com/shadercache/shadercache/shader"
)

// Child answers the requests of a Pool, in a process that the pool started.
type Child struct {
	// Open opens the cache to compile with. Its Options.RecordCrashes should be set.
	Open func() (Opened, error)

	// Find returns the program of a request. Default: DecodeSource.
	Find func(request string) (*shader.Source, error)

	// Hint returns what the user can do about an error of Open, for StartError.
	// Default: nothing.
	Hint func(error) string

	// Failed gets the request and the result of each program that failed, for instance
	// to print it on standard error. Default: nothing.
	Failed func(request string, r cache.PreloadResult)

	// In and Out are the connection to the pool. Default: standard input and output.
	In  io.Reader
	Out io.Writer
}

// Opened is a cache that a child opened.
type Opened struct {
	Cache       *cache.Cache
	ContextTime time.Duration // of opening the GL context, for ChildStart
	Close       func() error  // closes the cache, and the context behind it
}

// Serve opens the cache and answers requests until the input ends, then it closes the
// cache. A cache that cannot be opened, or that stores nothing, is reported to the
// pool and is no error. Serve ignores os.Interrupt from its call on.
func (c Child) Serve() error {
	signal.Ignore(os.Interrupt)
	if c.Find == nil {
		c.Find = DecodeSource
	}
	if c.In == nil {
		c.In = os.Stdin
	}
	if c.Out == nil {
		c.Out = os.Stdout
	}
	out := json.NewEncoder(c.Out)
	opened, err := c.Open()
	if err != nil {
		return out.Encode(c.cannotStart(err))
	}
	first := message{Ready: true, ContextNanos: int64(opened.ContextTime)}
	reason := opened.Cache.Stats().MemoryOnly
	if reason != "" {
		first = c.cannotStart(fmt.Errorf("%w: %s", ErrMemoryOnly, reason))
	}
	err = out.Encode(first)
	if err == nil && reason == "" {
		err = c.answer(opened.Cache, out)
	}
	return errors.Join(err, opened.Close())
}

func (c Child) cannotStart(err error) message {
	m := message{Error: err.Error()}
	if c.Hint != nil {
		m.Hint = c.Hint(err)
	}
	return m
}

// maxRequest bounds the length of a request.
const maxRequest = 64 << 20

// answer compiles the program of each line of the input.
func (c Child) answer(programs *cache.Cache, out *json.Encoder) error {
	input := bufio.NewScanner(c.In)
	input.Buffer(nil, maxRequest)
	for input.Scan() {
		r := c.compile(programs, input.Text())
		m := programMessage{Name: r.Name, Key: r.Key, Origin: r.Origin.String(),
			LoadNanos: r.LoadNanos, PrimeNanos: r.PrimeNanos, CompileNanos: r.CompileNanos}
		if r.Err != nil {
			m.Error = cmp.Or(r.Err.Error(), "unknown error")
			m.Quarantined = errors.Is(r.Err, binary.ErrQuarantined)
		}
		if err := out.Encode(message{Program: &m}); err != nil {
			return err
		}
	}
	return input.Err()
}

func (c Child) compile(programs *cache.Cache, request string) cache.PreloadResult {
	source, err := c.Find(request)
	r := cache.PreloadResult{Err: err}
	if err == nil {
		results, err := programs.Preload(context.Background(), []*shader.Source{source}, nil)
		if r = (cache.PreloadResult{Name: source.Name(), Key: source.Key(), Err: err}); len(results) == 1 {
			r = results[0]
		}
	}
	if r.Err != nil && c.Failed != nil {
		c.Failed(request, r)
	}
	return r
}
