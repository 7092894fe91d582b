//go:build linux

package resident

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/residenttest"
	"github.com/shadercache/shadercache/shader"
)

// Words of roundtrip.comp.
const (
	roundTripRuns  = 2048
	roundTripEnded = 2049
	roundTripWords = 4096
	roundTripStop  = ^uint32(0)
)

// answerAt returns the index of the answer of a form.
func (r roundTripForm) answerAt() int {
	if at, ok := r.defines["ANSWER_AT"]; ok {
		return at
	}
	return 16
}

func (r roundTripForm) source(polls int) (*shader.Source, error) {
	if r.defines["POLL"] != 0 && polls == idlePolls {
		polls /= 2 // atomics over the bus take longer
	}
	defines := shader.Defines{"POLLS": strconv.Itoa(polls)}
	for name, v := range r.defines {
		defines[name] = strconv.Itoa(v)
	}
	return shader.NewSource("roundtrip", roundTripText, defines)
}

// pingPong is a form with its program and its memory.
type pingPong struct {
	roundTripForm
	fixture         *fixture
	program         uint32
	request, answer glctx.MappedBuffer
	fence           glctx.Fence
}

// begin compiles the program of a form and makes its memory, until the test ends.
func (r roundTripForm) begin(f *fixture, polls int) (*pingPong, error) {
	source, err := r.source(polls)
	if err != nil {
		return nil, err
	}
	handle, err := f.cache.Get(f.t.Context(), source)
	if err != nil {
		return nil, err
	}
	c := &pingPong{roundTripForm: r, fixture: f, program: handle.Program()}
	if c.store == nil {
		c.store = storeAtomic
	}
	f.t.Cleanup(func() {
		handle.Release()
		_ = f.context.Do(func(gl *glctx.GL) error {
			gl.DeleteMapped(c.request)
			if c.answers != nil {
				gl.DeleteMapped(c.answer)
			}
			return nil
		})
	})
	return c, f.context.Do(func(gl *glctx.GL) (err error) {
		if c.request, err = gl.NewMapped(roundTripWords, r.requests); err != nil {
			return err
		}
		c.answer = c.request
		if c.answers != nil {
			c.answer, err = gl.NewMapped(roundTripWords, *c.answers)
		}
		return err
	})
}

// start starts the kernel.
func (c *pingPong) start() error {
	return c.fixture.context.Do(func(gl *glctx.GL) error {
		gl.UseProgram(c.program)
		gl.BindStorage(0, c.request.Buffer)
		gl.BindStorage(1, c.answer.Buffer)
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		gl.Dispatch(1, 1, 1)
		gl.MemoryBarrier(glctx.BarrierMapped)
		c.fence = gl.NewFence()
		gl.Flush()
		return gl.Err()
	})
}

// wait waits for the kernel to end.
func (c *pingPong) wait() error {
	return c.fixture.context.Do(func(gl *glctx.GL) error {
		reached, err := gl.WaitFence(c.fence, 10*time.Second)
		gl.DeleteFence(c.fence)
		if err == nil && !reached {
			err = fmt.Errorf("%w: a bounded kernel did not end", ErrStuck)
		}
		return err
	})
}

// read returns a word of the answers.
func (c *pingPong) read(at int) uint32 { return atomic.LoadUint32(&c.answer.Words[at]) }

// errNotAnswered is returned for a form in which the driver does not make writes visible.
var errNotAnswered = errors.New("resident: no answer")

// noAnswer is the time after which a form counts as one without answers.
const noAnswer = 300 * time.Millisecond

// exchange sends a word and waits for its answer. It reports whether it came, and
// returns any other word in its place.
func (c *pingPong) exchange(n uint32) (ok bool, wrong uint32) {
	at := &c.answer.Words[c.answerAt()]
	want, before := 3*n+1, 3*(n-1)+1
	c.store(&c.request.Words[0], n)
	for began := time.Now(); ; {
		for range 256 {
			switch w := atomic.LoadUint32(at); {
			case w == want:
				return true, 0
			case w != before && n > 1:
				return false, w
			}
			if c.pause {
				residenttest.Pause()
			}
		}
		if time.Since(began) > noAnswer {
			return false, 0
		}
	}
}

// TestRoundTripKernelsAnswer compiles each form and has it answer a word that was written
// before its dispatch, which is visible with every driver.
func TestRoundTripKernelsAnswer(t *testing.T) {
	f := newFixture(t)
	for _, form := range roundTripForms() {
		t.Run(form.name, func(t *testing.T) {
			const polls, word = 5, 1234567
			c, err := form.begin(&fixture{t, f.context, f.cache}, polls)
			if err != nil {
				t.Fatal(err)
			}
			c.store(&c.request.Words[0], word)
			if err := c.start(); err != nil {
				t.Fatal(err)
			}
			if err := c.wait(); err != nil {
				t.Fatal(err)
			}
			if got := c.read(c.answerAt()); got != 3*word+1 {
				t.Errorf("the answer is %d, not %d", got, 3*word+1)
			}
			ended := c.read(roundTripEnded)
			if c.read(roundTripRuns) != 1 || ended < 2 || ended > polls+1 {
				t.Errorf("the kernel ended after %d polls, %d of them without a new word", ended, polls)
			}
		})
	}
}

// TestWrongAnswersAreDetected exchanges words with memory that no kernel writes.
func TestWrongAnswersAreDetected(t *testing.T) {
	for _, store := range []func(*uint32, uint32){storeAtomic, storePlain, storeDrained, storeStream} {
		memory := glctx.MappedBuffer{Words: make([]uint32, roundTripWords)}
		c := &pingPong{roundTripForm: roundTripForm{store: store, pause: true}, request: memory, answer: memory}
		memory.Words[c.answerAt()] = 3*7 + 1
		if ok, _ := c.exchange(7); !ok || memory.Words[0] != 7 {
			t.Errorf("the answer to 7 is not accepted; the word is %d", memory.Words[0])
		}
		if ok, wrong := c.exchange(6); ok || wrong != 3*7+1 {
			t.Errorf("the answer to 7 is accepted for 6: %v, %d", ok, wrong)
		}
	}
	memory := glctx.MappedBuffer{Words: make([]uint32, roundTripWords)}
	c := &pingPong{roundTripForm: roundTripForm{store: storePlain}, request: memory, answer: memory}
	memory.Words[c.answerAt()] = 3*7 + 1
	if ok, wrong := c.exchange(8); ok || wrong != 0 {
		t.Errorf("the answer to 7 is accepted for 8: %v, %d", ok, wrong)
	}
}

// roundTripWarm is the time that a form runs before it is measured, in which an idle GPU
// raises its clock.
const roundTripWarm = 300 * time.Millisecond

// idlePolls bounds a kernel whose host has died: less than 2 s, with polls of 0.4 to
// 1.5 us.
const idlePolls = 1_000_000

// BenchmarkRoundTripForms measures the round trip of a word to a running kernel in every
// form, and that of a message of a session. Each answer is verified. It needs a GPU on
// which host writes are visible to running kernels:
//
//	go test -tags egl -c -o resident.test ./resident
//	./resident.test -test.run '^$' -test.bench RoundTripForms -test.benchtime 0.5s
func BenchmarkRoundTripForms(b *testing.B) {
	f := newFixture(b)
	if f.context.Info().Software() {
		b.Skip("a software driver ends the long loops of these kernels")
	}
	caps, err := Probe(b.Context(), f.context, f.cache, nil)
	if err != nil {
		b.Fatal(err)
	}
	if !caps.HostWritesSeen {
		b.Skip("a kernel of this driver does not see host writes during its dispatch")
	}
	for _, form := range roundTripForms() {
		b.Run(form.name, func(b *testing.B) {
			switch err := form.bench(&fixture{b, f.context, f.cache}, b); {
			case errors.Is(err, errNotAnswered):
				b.Skip(err)
			case err != nil:
				b.Error(err)
			}
		})
	}
	for _, kind := range []glctx.MapOptions{hostMemory, serverMemory} {
		b.Run(fmt.Sprintf("session,server=%v", kind.ServerStorage), func(b *testing.B) {
			o := Options{Strategy: Persistent, Poll: 1, Capabilities: caps, test: testOptions{mapping: kind}}
			benchSession(b, (&fixture{b, f.context, f.cache}).session(Echo(1), o))
		})
	}
}

// bench measures one form.
func (r roundTripForm) bench(f *fixture, b *testing.B) error {
	c, err := r.begin(f, idlePolls)
	if err != nil {
		return err
	}
	if r.locked {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	if err := c.start(); err != nil {
		return err
	}
	measure := func() error {
		if !spinUntil(func() bool { return c.read(roundTripRuns) == 1 }, time.Second) {
			return errors.New("the kernel did not begin")
		}
		n := uint32(0)
		once := func() error {
			n++
			ok, wrong := c.exchange(n)
			if !ok && wrong == 0 {
				return fmt.Errorf("%w: word %d; the kernel has ended after %d polls, 0 is not yet", errNotAnswered, n, c.read(roundTripEnded))
			}
			if !ok {
				return fmt.Errorf("the answer to word %d is %d", n, wrong)
			}
			return nil
		}
		return timeRoundTrips(b, once)
	}
	err = measure()
	c.store(&c.request.Words[0], roundTripStop)
	if ended := c.wait(); err == nil {
		err = ended
	}
	return err
}

// timeRoundTrips calls once for the time of the benchmark, and reports the median and the
// 99th percentile.
func timeRoundTrips(b *testing.B, once func() error) error {
	for began := time.Now(); time.Since(began) < roundTripWarm; {
		if err := once(); err != nil {
			return err
		}
	}
	took := make([]time.Duration, 0, 1<<20)
	for b.Loop() {
		start := time.Now()
		if err := once(); err != nil {
			return err
		}
		if len(took) < cap(took) {
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "median-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	return nil
}

// benchSession measures a message to a session with its answer.
func benchSession(b *testing.B, s *Session) {
	if err := s.Start(0); err != nil {
		b.Fatal(err)
	}
	n := uint32(0)
	err := timeRoundTrips(b, func() error {
		n++
		if err := s.Send(Message{Kind: 9, A: n, B: ^n}); err != nil {
			return err
		}
		var m Message
		if !spinUntil(func() (ok bool) { m, ok = s.TryReceive(); return ok }, time.Second) || m != (Message{Kind: 9, A: 3*n + 1, B: ^n}) {
			return fmt.Errorf("the answer to message %d is %+v", n, m)
		}
		return nil
	})
	if err != nil {
		b.Error(err)
	}
	if _, err := s.Stop(b.Context()); err != nil {
		b.Error(err)
	}
}
