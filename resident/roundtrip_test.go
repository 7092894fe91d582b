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

// answerAt is where the kernel of a form answers.
func (r roundTripForm) answerAt() int {
	if at, ok := r.defines["ANSWER_AT"]; ok {
		return at
	}
	return 16
}

func (r roundTripForm) source(looks int) (*shader.Source, error) {
	if r.defines["POLL"] != 0 && looks == idleLooks {
		looks /= 2 // atomics over the bus take longer
	}
	defines := shader.Defines{"LOOKS": strconv.Itoa(looks)}
	for name, v := range r.defines {
		defines[name] = strconv.Itoa(v)
	}
	return shader.NewSource("roundtrip", roundTripText, defines)
}

// conversation is a form with its program and its memory.
type conversation struct {
	roundTripForm
	fixture         *fixture
	program         uint32
	asked, answered glctx.MappedBuffer
	fence           glctx.Fence
}

// begin makes everything of a form. It is freed when the test ends.
func (r roundTripForm) begin(f *fixture, looks int) (*conversation, error) {
	source, err := r.source(looks)
	if err != nil {
		return nil, err
	}
	handle, err := f.cache.Get(f.t.Context(), source)
	if err != nil {
		return nil, err
	}
	c := &conversation{roundTripForm: r, fixture: f, program: handle.Program()}
	if c.store == nil {
		c.store = storeAtomic
	}
	f.t.Cleanup(func() {
		handle.Release()
		_ = f.context.Do(func(gl *glctx.GL) error {
			gl.DeleteMapped(c.asked)
			if c.apart != nil {
				gl.DeleteMapped(c.answered)
			}
			return nil
		})
	})
	return c, f.context.Do(func(gl *glctx.GL) (err error) {
		if c.asked, err = gl.NewMappedWith(roundTripWords, r.asked); err != nil {
			return err
		}
		c.answered = c.asked
		if c.apart != nil {
			c.answered, err = gl.NewMappedWith(roundTripWords, *c.apart)
		}
		return err
	})
}

// fly starts the kernel.
func (c *conversation) fly() error {
	return c.fixture.context.Do(func(gl *glctx.GL) error {
		gl.UseProgram(c.program)
		gl.BindStorage(0, c.asked.Buffer)
		gl.BindStorage(1, c.answered.Buffer)
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		gl.Dispatch(1, 1, 1)
		gl.MemoryBarrier(glctx.BarrierMapped)
		c.fence = gl.NewFence()
		gl.Flush()
		return gl.Err()
	})
}

// land waits for the kernel to end.
func (c *conversation) land() error {
	return c.fixture.context.Do(func(gl *glctx.GL) error {
		reached, err := gl.WaitFence(c.fence, 10*time.Second)
		gl.DeleteFence(c.fence)
		if err == nil && !reached {
			err = fmt.Errorf("%w: a bounded kernel did not end", ErrStuck)
		}
		return err
	})
}

// read is a word of the answers.
func (c *conversation) read(at int) uint32 { return atomic.LoadUint32(&c.answered.Words[at]) }

// errNotAnswered says of a form that the driver does not show one side what the other
// writes.
var errNotAnswered = errors.New("resident: nobody answered")

// noAnswer is how long an answer may take before a form counts as one in which
// there are none.
const noAnswer = 300 * time.Millisecond

// ask sends a word and waits for its answer. It reports whether it came, and
// anything else that stood in its place.
func (c *conversation) ask(n uint32) (ok bool, wrong uint32) {
	at := &c.answered.Words[c.answerAt()]
	want, before := 3*n+1, 3*(n-1)+1
	c.store(&c.asked.Words[0], n)
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

// TestRoundTripKernelsAnswer compiles each form and has it answer a word that was
// written before its dispatch, which every driver shows.
func TestRoundTripKernelsAnswer(t *testing.T) {
	f := newFixture(t)
	for _, form := range roundTripForms() {
		t.Run(form.name, func(t *testing.T) {
			const looks, word = 5, 1234567
			c, err := form.begin(&fixture{t, f.context, f.cache}, looks)
			if err != nil {
				t.Fatal(err)
			}
			c.store(&c.asked.Words[0], word)
			if err := c.fly(); err != nil {
				t.Fatal(err)
			}
			if err := c.land(); err != nil {
				t.Fatal(err)
			}
			if got := c.read(c.answerAt()); got != 3*word+1 {
				t.Errorf("the answer is %d, not %d", got, 3*word+1)
			}
			ended := c.read(roundTripEnded)
			if c.read(roundTripRuns) != 1 || ended < 2 || ended > looks+1 {
				t.Errorf("the kernel ended after %d looks, with %d of them showing nothing new", ended, looks)
			}
		})
	}
}

// TestWrongAnswersAreToldFromNone asks memory that nobody answers in.
func TestWrongAnswersAreToldFromNone(t *testing.T) {
	for _, store := range []func(*uint32, uint32){storeAtomic, storePlain, storeDrained, storeStream} {
		memory := glctx.MappedBuffer{Words: make([]uint32, roundTripWords)}
		c := &conversation{roundTripForm: roundTripForm{store: store, pause: true}, asked: memory, answered: memory}
		memory.Words[c.answerAt()] = 3*7 + 1
		if ok, _ := c.ask(7); !ok || memory.Words[0] != 7 {
			t.Errorf("the answer to 7 is not taken; the word is %d", memory.Words[0])
		}
		if ok, wrong := c.ask(6); ok || wrong != 3*7+1 {
			t.Errorf("the answer to 7 is taken for one to 6: %v, %d", ok, wrong)
		}
	}
	memory := glctx.MappedBuffer{Words: make([]uint32, roundTripWords)}
	c := &conversation{roundTripForm: roundTripForm{store: storePlain}, asked: memory, answered: memory}
	memory.Words[c.answerAt()] = 3*7 + 1
	if ok, wrong := c.ask(8); ok || wrong != 0 {
		t.Errorf("the answer to 7 is one to 8: %v, %d", ok, wrong)
	}
}

// roundTripWarm is how long a form runs before it is timed: a GPU that slept
// takes that long to come to its clock.
const roundTripWarm = 300 * time.Millisecond

// idleLooks bounds a kernel whose host has died: less than 2 s, where a look takes
// 0.4 to 1.5 us.
const idleLooks = 1_000_000

// BenchmarkRoundTripForms times a word to a running kernel and its answer back, in
// every form that may make a difference, and then what a session does. Each answer
// is verified. It needs a GPU that shows a kernel what the host writes meanwhile:
//
//	go test -tags egl -c -o resident.test ./resident
//	./resident.test -test.run '^$' -test.bench RoundTripForms -test.benchtime 0.5s
func BenchmarkRoundTripForms(b *testing.B) {
	f := newFixture(b)
	if f.context.Info().Software() {
		b.Skip("kernels of a software driver cannot stay: it ends long loops")
	}
	caps, err := Probe(b.Context(), f.context, f.cache, nil)
	if err != nil {
		b.Fatal(err)
	}
	if !caps.HostWritesSeen {
		b.Skip("a kernel of this driver does not see what the host writes during its dispatch")
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
			k, err := Echo(1)
			if err != nil {
				b.Fatal(err)
			}
			o := Options{Strategy: Persistent, Poll: 1, Capabilities: caps, test: testOptions{mapping: kind}}
			benchSession(b, (&fixture{b, f.context, f.cache}).session(k, o))
		})
	}
}

// bench times one form.
func (r roundTripForm) bench(f *fixture, b *testing.B) error {
	c, err := r.begin(f, idleLooks)
	if err != nil {
		return err
	}
	if r.locked {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	if err := c.fly(); err != nil {
		return err
	}
	talk := func() error {
		if !spinUntil(func() bool { return c.read(roundTripRuns) == 1 }, time.Second) {
			return errors.New("nobody saw the kernel begin")
		}
		n := uint32(0)
		once := func() error {
			n++
			ok, wrong := c.ask(n)
			if !ok && wrong == 0 {
				return fmt.Errorf("%w: word %d; the kernel has ended after %d looks, 0 is not yet", errNotAnswered, n, c.read(roundTripEnded))
			}
			if !ok {
				return fmt.Errorf("the answer to word %d is %d", n, wrong)
			}
			return nil
		}
		return timeRoundTrips(b, once)
	}
	err = talk()
	c.store(&c.asked.Words[0], roundTripStop)
	if landed := c.land(); err == nil {
		err = landed
	}
	return err
}

// timeRoundTrips calls once until the benchmark's time is over, and reports the
// median and the 99th percentile.
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

// benchSession times a message to a session and its answer.
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
		if !spinUntil(func() (ok bool) { m, ok = s.TryReceive(); return ok }, time.Second) || m != (Message{9, 3*n + 1, ^n}) {
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
