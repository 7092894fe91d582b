//go:build linux

package resident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// ProbeKeeper remembers what Probe found out about a driver. *binary.Store of the
// context's fingerprint does.
type ProbeKeeper interface {
	Probe() ([]byte, error)
	PutProbe(result []byte) error
}

// Probe finds out what the driver does beyond what GL promises: takes it from
// keep, or measures, which takes up to a second and needs a GPU that does
// nothing else, and has keep remember it. keep may be nil. A result that cannot
// be kept is no failure.
func Probe(ctx context.Context, c *glctx.Context, programs executor.Programs, keep ProbeKeeper) (*Capabilities, error) {
	if keep != nil {
		if known := knownCapabilities(keep); known != nil {
			return known, nil
		}
	}
	p := &prober{ctx: ctx, context: c, programs: programs}
	var caps *Capabilities
	err := serving(c, func() (err error) {
		caps, err = p.measure()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("resident: probe: %w", err)
	}
	if data, err := json.Marshal(caps); err == nil && keep != nil {
		_ = keep.PutProbe(data) // else the next process probes again
	}
	return caps, nil
}

// knownCapabilities is what was kept, or nil.
func knownCapabilities(keep ProbeKeeper) *Capabilities {
	data, err := keep.Probe()
	if err != nil {
		return nil
	}
	var known Capabilities
	if json.Unmarshal(data, &known) != nil || known.ResidencyGroup != meetLocal {
		return nil
	}
	return &known
}

// prober measures.
type prober struct {
	ctx      context.Context
	context  *glctx.Context
	programs executor.Programs
}

// Sizes of the measurements.
const (
	probedLoops   = 1 << 20 // far beyond where a driver that ends loops does so
	meetLocal     = 256     // invocations of a group that meets others
	maxMeeting    = 1 << 13 // groups
	trialMeetings = 8
	timedMeetings = 2000
	timedGroups   = 132 // for one number to compare GPUs by
	roundTrips    = 3000
	answerTime    = 20 * time.Millisecond // a word that is not back by then will not come
	flightTries   = 3                     // since the host may have been held up
	beginTime     = 200 * time.Millisecond
	warmTime      = 300 * time.Millisecond
)

// Words of probe_visibility.comp.
const (
	flightAsk    = 0
	flightAnswer = 16
	flightLooks  = 17
	flightRuns   = 18
	flightWords  = 32
	flightStop   = ^uint32(0)
)

func (p *prober) measure() (*Capabilities, error) {
	caps := &Capabilities{ResidencyGroup: meetLocal}
	var err error
	if caps.LoopLimit, err = p.loopLimit(); err != nil {
		return nil, err
	}
	if err := p.residency(caps); err != nil {
		return nil, err
	}
	// A kernel whose loops end cannot stay, whatever it would see.
	if caps.LoopLimit == 0 {
		if err := p.flight(caps); err != nil {
			return nil, err
		}
	}
	return caps, nil
}

// with calls run with a program, on a goroutine of the caller.
func (p *prober) with(name string, defines shader.Defines, run func(program uint32) error) error {
	text, err := fs.ReadFile(kernels, kernelFolder+"/"+name+".comp")
	if err != nil {
		return err
	}
	source, err := shader.NewSource(name, string(text), defines)
	if err != nil {
		return err
	}
	handle, err := p.programs.Get(p.ctx, source)
	if err != nil {
		return err
	}
	defer handle.Release()
	return run(handle.Program())
}

// loopLimit is where the driver ends a loop, 0 where it did not.
func (p *prober) loopLimit() (limit uint32, err error) {
	err = p.with("probe_loops", nil, func(program uint32) error {
		return p.context.Do(func(gl *glctx.GL) error {
			count := []uint32{0, probedLoops, 0, 0}
			b, err := gl.NewBuffer(16, glctx.Bytes(count))
			if err != nil {
				return err
			}
			defer gl.DeleteBuffer(b)
			gl.UseProgram(program)
			gl.BindStorage(0, b)
			gl.Dispatch(1, 1, 1)
			gl.MemoryBarrier(glctx.BarrierUpdate)
			gl.Download(b, 0, glctx.Bytes(count))
			if count[0] < probedLoops {
				limit = max(1, count[0])
			}
			return gl.Err()
		})
	})
	return limit, err
}

// residency finds how many groups can wait for each other, and what that costs.
func (p *prober) residency(caps *Capabilities) error {
	return p.with("probe_barrier", shader.Defines{"LOCAL": strconv.Itoa(meetLocal)}, func(program uint32) error {
		can := func(groups uint32) (bool, error) {
			for range 3 {
				if ok, _, err := p.meet(program, groups, trialMeetings); err != nil || !ok {
					return false, err
				}
			}
			return true, nil
		}
		most, err := largest(maxMeeting, can)
		if err != nil {
			return err
		}
		caps.Residency = most
		if most < 2 || caps.LoopLimit > 0 {
			return nil
		}
		caps.Barrier, err = p.barrierTime(program, min(most, timedGroups))
		return err
	})
}

// largest finds the largest n up to most for which can holds, where it holds for
// all smaller ones. It doubles first, since what fails takes long.
func largest(most uint32, can func(n uint32) (bool, error)) (uint32, error) {
	good, bad := uint32(0), uint32(1)
	for ; bad <= most; bad *= 2 {
		ok, err := can(bad)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		good = bad
	}
	for bad = min(bad, most+1); bad-good > 1; {
		middle := good + (bad-good)/2
		ok, err := can(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			good = middle
		} else {
			bad = middle
		}
	}
	return good, nil
}

// barrierTime is what one meeting takes: the difference of two dispatches, so
// that what a dispatch takes is no part of it. The least of three is it.
func (p *prober) barrierTime(program, groups uint32) (time.Duration, error) {
	// A GPU that slept takes a while to come to its clock.
	for began := time.Now(); time.Since(began) < warmTime; {
		if ok, _, err := p.meet(program, groups, timedMeetings); err != nil || !ok {
			return 0, err
		}
	}
	best := time.Duration(0)
	for range 3 {
		var took [2]time.Duration
		for i := range took {
			ok, d, err := p.meet(program, groups, timedMeetings*uint32(1+i))
			if err != nil || !ok {
				return 0, err
			}
			took[i] = d
		}
		if each := (took[1] - took[0]) / timedMeetings; each > 0 && (best == 0 || each < best) {
			best = each
		}
	}
	return best, nil
}

// meet reports whether so many groups met so often, and how long it took.
func (p *prober) meet(program, groups, meetings uint32) (ok bool, took time.Duration, err error) {
	err = p.context.Do(func(gl *glctx.GL) error {
		words := make([]uint32, 4)
		b, err := gl.NewBuffer(16, glctx.Bytes(words))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.UseProgram(program)
		gl.BindStorage(0, b)
		gl.SetUint(gl.UniformLocation(program, "meetings"), meetings)
		began := time.Now()
		gl.Dispatch(groups, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		fence := gl.NewFence()
		reached, err := gl.WaitFence(fence, defaultTimeout)
		took = time.Since(began)
		gl.DeleteFence(fence)
		if err != nil || !reached {
			return errors.Join(err, fmt.Errorf("%w: groups that wait for each other did not end", ErrStuck))
		}
		gl.Download(b, 0, glctx.Bytes(words))
		ok = words[1] == 0 && words[2] == groups
		return gl.Err()
	})
	return ok, took, err
}

// flight finds out what host and kernel see of each other during a dispatch.
func (p *prober) flight(caps *Capabilities) error {
	return p.with("probe_visibility", nil, func(program uint32) error {
		for range flightTries {
			if err := p.tryFlight(program, caps); err != nil || caps.HostWritesSeen {
				return err
			}
		}
		return nil
	})
}

// tryFlight has one kernel fly.
func (p *prober) tryFlight(program uint32, caps *Capabilities) error {
	var shared glctx.MappedBuffer
	err := p.context.Do(func(gl *glctx.GL) (err error) {
		shared, err = gl.NewMapped(flightWords)
		return err
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.fly(program, shared) }()
	p.converse(shared.Words, caps)
	atomic.StoreUint32(&shared.Words[flightAsk], flightStop)
	err = <-ended
	return errors.Join(err, p.context.Do(func(gl *glctx.GL) error {
		gl.DeleteMapped(shared)
		return gl.Err()
	}))
}

// fly dispatches the kernel and waits until it has ended.
func (p *prober) fly(program uint32, shared glctx.MappedBuffer) error {
	return p.context.Do(func(gl *glctx.GL) error {
		gl.UseProgram(program)
		gl.BindStorage(0, shared.Buffer)
		gl.Dispatch(1, 1, 1)
		fence := gl.NewFence()
		reached, err := gl.WaitFence(fence, defaultTimeout)
		gl.DeleteFence(fence)
		if err == nil && !reached {
			err = fmt.Errorf("%w: a kernel with a bounded loop did not end", ErrStuck)
		}
		return errors.Join(err, gl.Err())
	})
}

// converse asks the kernel in flight and times its answers. The kernel writes
// how often it looked when it ends, so an answer without that came in flight.
func (p *prober) converse(words []uint32, caps *Capabilities) {
	runs := func() bool { return atomic.LoadUint32(&words[flightRuns]) != 0 }
	ended := func() bool { return atomic.LoadUint32(&words[flightLooks]) != 0 }
	if !spinUntil(runs, beginTime) || ended() {
		return
	}
	caps.KernelWritesSeen = true
	took := make([]time.Duration, 0, roundTrips)
	for n := uint32(1); n <= roundTrips; n++ {
		began := time.Now()
		atomic.StoreUint32(&words[flightAsk], n)
		if !spinUntil(func() bool { return atomic.LoadUint32(&words[flightAnswer]) == n }, answerTime) || ended() {
			return
		}
		took = append(took, time.Since(began))
	}
	caps.HostWritesSeen = true
	slices.Sort(took)
	caps.RoundTrip = took[len(took)/2]
}

// spinUntil looks until met holds, at most for d, and reports whether it did.
func spinUntil(met func() bool, d time.Duration) bool {
	for began := time.Now(); time.Since(began) < d; {
		for range 64 {
			if met() {
				return true
			}
		}
	}
	return met() // the last look may be long ago, where the thread was held up
}

// tryGridBarrier has the groups of this very program meet a few times, where
// the form relies on it: a kernel with many registers leaves room for fewer.
func (s *Session) tryGridBarrier() error {
	if !s.form.GridBarrier {
		return nil
	}
	s.writeOrder(order{epoch: s.driver.epoch, poll: 1, mode: modeLockstep | modeGrid | modeTrial, phases: s.kernel.Phases})
	err := s.context.Do(func(gl *glctx.GL) error {
		s.gl.rearm(gl)
		s.gl.bind(gl)
		s.gl.phases(gl, 0, s.kernel.Phases)
		gl.Dispatch(s.kernel.Groups, 1, 1)
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		fence := gl.NewFence()
		reached, err := gl.WaitFence(fence, s.options.Timeout)
		gl.DeleteFence(fence)
		if err == nil && !reached {
			err = ErrStuck
		}
		return errors.Join(err, gl.Err())
	})
	if err != nil {
		return err
	}
	r := s.readReport()
	s.driver.ticks = r.ticks
	if r.signal.Kind != SignalRunning || r.ticks == 0 {
		s.form = s.form.withoutGridBarrier()
	}
	return nil
}
