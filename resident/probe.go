//go:build linux

package resident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// ProbeStore stores the result of Probe for a driver. *binary.Store of the context's
// fingerprint is one.
type ProbeStore interface {
	Probe() ([]byte, error)
	PutProbe(result []byte) error
}

// Probe measures what the driver does beyond the guarantees of GL, or reads the result
// from store. Measuring takes up to a second, needs an idle GPU, and writes the result
// to store. store may be nil. An error of store is ignored.
func Probe(ctx context.Context, c *glctx.Context, programs executor.Programs, store ProbeStore) (*Capabilities, error) {
	if store != nil {
		if stored := readProbe(store); stored != nil {
			return stored, nil
		}
	}
	p := &prober{ctx: ctx, context: c, programs: programs}
	var caps *Capabilities
	var err error
	c.PollWhile(func() { caps, err = p.measure() })
	if err != nil {
		return nil, fmt.Errorf("resident: probe: %w", err)
	}
	if data, err := json.Marshal(caps); err == nil && store != nil {
		_ = store.PutProbe(data) // after an error the next process probes again
	}
	return caps, nil
}

// readProbe returns the stored result, or nil.
func readProbe(store ProbeStore) *Capabilities {
	data, err := store.Probe()
	if err != nil {
		return nil
	}
	var stored Capabilities
	if json.Unmarshal(data, &stored) != nil || stored.ResidencyGroup != barrierLocal {
		return nil
	}
	return &stored
}

// prober measures Capabilities.
type prober struct {
	ctx      context.Context
	context  *glctx.Context
	programs executor.Programs
}

// Sizes of the measurements.
const (
	probedLoops      = 1 << 20 // far beyond the limit of drivers that end loops
	barrierLocal     = 256     // invocations of a group
	maxBarrierGroups = 1 << 13
	testedBarriers   = 8
	timedBarriers    = 2000
	timedGroups      = 132 // of Capabilities.Barrier, to compare GPUs
	roundTrips       = 3000
	answerTimeout    = 20 * time.Millisecond
	pingPongTries    = 3 // since the host's thread may be delayed
	beginTimeout     = 200 * time.Millisecond
	warmTime         = 300 * time.Millisecond
)

// Words of probe_visibility.comp.
const (
	pingWord    = 0
	pongWord    = 16
	pollsWord   = 17
	runningWord = 18
	pingWords   = 32
	pingStop    = ^uint32(0)
)

// measure measures the loop limit, co-residency and visibility.
func (p *prober) measure() (*Capabilities, error) {
	caps := &Capabilities{ResidencyGroup: barrierLocal}
	var err error
	if caps.LoopLimit, err = p.loopLimit(); err != nil {
		return nil, err
	}
	if err := p.residency(caps); err != nil {
		return nil, err
	}
	// A driver that ends loops also ends a kernel that polls.
	if caps.LoopLimit == 0 {
		if err := p.visibility(caps); err != nil {
			return nil, err
		}
	}
	return caps, nil
}

// withProgram calls run with a program. One that was loaded has to give a known answer
// first: see probe_check.go.
func (p *prober) withProgram(name string, defines shader.Defines, run func(program uint32) error) error {
	handles, err := kernelset.Get(p.ctx, p.programs, kernels, kernelset.Kernel{Name: name, Defines: defines, Check: p.check(name)})
	if err != nil {
		return err
	}
	defer kernelset.Release(handles...)
	return run(handles[0].Program())
}

// runWords runs groups of a program with a buffer of words at binding 0, and returns the
// words afterwards. barriers is its uniform of that name, 0 where it has none.
func (p *prober) runWords(program, groups, barriers uint32, words []uint32) (after []uint32, took time.Duration, err error) {
	after = slices.Clone(words)
	err = p.context.Do(func(gl *glctx.GL) error {
		b, err := gl.NewBuffer(4*len(words), glctx.Bytes(words))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.UseProgram(program)
		gl.BindStorage(0, b)
		if barriers > 0 {
			gl.SetUint(gl.UniformLocation(program, "barriers"), barriers)
		}
		began := time.Now()
		gl.Dispatch(groups, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		err = waitDispatch(gl, defaultTimeout)
		if took = time.Since(began); err != nil {
			return err
		}
		gl.Download(b, 0, glctx.Bytes(after))
		return gl.Err()
	})
	return after, took, err
}

// loopLimit returns the back-edges after which the driver ends a loop, 0 for none.
func (p *prober) loopLimit() (limit uint32, err error) {
	err = p.withProgram("probe_loops", nil, func(program uint32) error {
		count, _, err := p.runWords(program, 1, 0, []uint32{0, probedLoops, 0, 0})
		if err == nil && count[0] < probedLoops {
			limit = max(1, count[0])
		}
		return err
	})
	return limit, err
}

// residency measures how many groups are co-resident, and the cost of a grid barrier.
func (p *prober) residency(caps *Capabilities) error {
	return p.withProgram("probe_barrier", shader.Defines{"LOCAL": strconv.Itoa(barrierLocal)}, func(program uint32) error {
		can := func(groups uint32) (bool, error) {
			for range 3 {
				if ok, _, err := p.runBarriers(program, groups, testedBarriers); err != nil || !ok {
					return false, err
				}
			}
			return true, nil
		}
		most, err := largest(maxBarrierGroups, can)
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

// largest returns the largest n up to most for which can holds, if it holds for all
// smaller ones. It doubles n first, since failures take long.
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

// barrierTime returns the cost of a barrier: the least of three differences of two
// dispatches, which exclude the cost of the dispatch.
func (p *prober) barrierTime(program, groups uint32) (time.Duration, error) {
	// An idle GPU takes a while to raise its clock.
	for began := time.Now(); time.Since(began) < warmTime; {
		if ok, _, err := p.runBarriers(program, groups, timedBarriers); err != nil || !ok {
			return 0, err
		}
	}
	best := time.Duration(0)
	for range 3 {
		var took [2]time.Duration
		for i := range took {
			ok, d, err := p.runBarriers(program, groups, timedBarriers*uint32(1+i))
			if err != nil || !ok {
				return 0, err
			}
			took[i] = d
		}
		if one := (took[1] - took[0]) / timedBarriers; one > 0 && (best == 0 || one < best) {
			best = one
		}
	}
	return best, nil
}

// runBarriers runs a number of groups through a number of barriers. It reports whether
// all passed, and the time.
func (p *prober) runBarriers(program, groups, barriers uint32) (ok bool, took time.Duration, err error) {
	words, took, err := p.runWords(program, groups, barriers, make([]uint32, 4))
	return err == nil && words[1] == 0 && words[2] == groups, took, err
}

// visibility measures whether host and kernel see each other's writes during a dispatch.
func (p *prober) visibility(caps *Capabilities) error {
	return p.withProgram("probe_visibility", nil, func(program uint32) error {
		for range pingPongTries {
			if err := p.tryPingPong(program, caps); err != nil || caps.HostWritesSeen && caps.DispatchReturns {
				return err
			}
		}
		return nil
	})
}

// tryPingPong runs a kernel, and exchanges words with it.
func (p *prober) tryPingPong(program uint32, caps *Capabilities) error {
	var shared glctx.MappedBuffer
	err := p.context.Do(func(gl *glctx.GL) (err error) {
		shared, err = gl.NewMapped(pingWords, glctx.MapOptions{})
		return err
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	var returned atomic.Bool
	go func() { ended <- p.runPong(program, shared, &returned) }()
	p.pingPong(shared.Words, caps, &returned)
	atomic.StoreUint32(&shared.Words[pingWord], pingStop)
	err = <-ended
	return errors.Join(err, p.context.Do(func(gl *glctx.GL) error {
		gl.DeleteMapped(shared)
		return gl.Err()
	}))
}

// runPong dispatches the kernel, sets returned, and waits for the kernel's end.
func (p *prober) runPong(program uint32, shared glctx.MappedBuffer, returned *atomic.Bool) error {
	return p.context.Do(func(gl *glctx.GL) error {
		gl.UseProgram(program)
		gl.BindStorage(0, shared.Buffer)
		gl.Dispatch(1, 1, 1)
		gl.Flush()
		returned.Store(true)
		return waitDispatch(gl, defaultTimeout)
	})
}

// pingPong sends words to the running kernel and times its answers. The kernel writes the
// number of its polls when it ends, so an answer before that came while it ran, and so did
// the return of the call that dispatched it.
func (p *prober) pingPong(words []uint32, caps *Capabilities, returned *atomic.Bool) {
	running := func() bool { return atomic.LoadUint32(&words[runningWord]) != 0 }
	ended := func() bool { return atomic.LoadUint32(&words[pollsWord]) != 0 }
	if !spinUntil(running, beginTimeout) || ended() {
		return
	}
	caps.KernelWritesSeen = true
	took := make([]time.Duration, 0, roundTrips)
	for n := uint32(1); n <= roundTrips; n++ {
		began := time.Now()
		atomic.StoreUint32(&words[pingWord], n)
		if !spinUntil(func() bool { return atomic.LoadUint32(&words[pongWord]) == n }, answerTimeout) || ended() {
			return
		}
		took = append(took, time.Since(began))
	}
	caps.HostWritesSeen = true
	spinUntil(func() bool { return returned.Load() || ended() }, answerTimeout)
	caps.DispatchReturns = returned.Load() && !ended()
	slices.Sort(took)
	caps.RoundTrip = took[len(took)/2]
}

// spinUntil polls until met holds, at most for d, and reports whether it did.
func spinUntil(met func() bool, d time.Duration) bool {
	for began := time.Now(); time.Since(began) < d; {
		for range 64 {
			if met() {
				return true
			}
		}
	}
	return met() // the thread may have been delayed since the last poll
}

// testGridBarrier has all groups of the session's program pass a few barriers, where the
// mode needs them: registers and shared memory of the program decide how many groups are
// co-resident. If they do not pass, the mode becomes one without a grid barrier.
func (sc *scheduler) testGridBarrier() error {
	if !sc.mode.GridBarrier {
		return nil
	}
	sc.words.WriteCommand(wire.Command{Epoch: sc.epoch, Poll: 1, Phases: sc.kernel.Phases,
		Flags: wire.FlagLockstep | wire.FlagGridBarrier | wire.FlagTestBarrier})
	err := sc.context.Do(func(gl *glctx.GL) error {
		sc.gl.clearRun(gl)
		sc.gl.bind(gl)
		sc.gl.setPhases(gl, 0, sc.kernel.Phases)
		gl.Dispatch(sc.kernel.Groups, 1, 1)
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		return waitDispatch(gl, sc.options.Timeout)
	})
	if err != nil {
		return err
	}
	v := sc.words.ReadStatus()
	sc.ticks = v.Ticks
	if SignalKind(v.Kind) != SignalRunning || v.Ticks == 0 {
		sc.mode = sc.mode.withoutGridBarrier()
	}
	return nil
}

// waitDispatch waits for the commands so far, and returns ErrStuck after a timeout.
func waitDispatch(gl *glctx.GL, timeout time.Duration) error {
	fence := gl.NewFence()
	reached, err := gl.WaitFence(fence, timeout)
	gl.DeleteFence(fence)
	if err == nil && !reached {
		err = fmt.Errorf("%w: a dispatch did not end within %v", ErrStuck, timeout)
	}
	return errors.Join(err, gl.Err())
}
