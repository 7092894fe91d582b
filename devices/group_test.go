//go:build linux

package devices_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// closeAfter returns a group that is closed at the end of the test, without an error.
func closeAfter(t testing.TB, g *devices.Group) *devices.Group {
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// openGroup opens a group of n contexts on the first device, in a cache directory of the
// test process.
func openGroup(t testing.TB, n int, o devices.Options) *devices.Group {
	t.Helper()
	gltest.Open(t) // skips or fails without a driver
	o.Device.Devices = gltest.Devices(n)
	o.Device.Executor = executor.Options{SlotBytes: 64 << 10, Depth: 3}
	o.Device.NoTrials = true
	o.Device.Context.DriverCacheOff = true // as gltest.Open set it
	g, err := devices.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return closeAfter(t, g)
}

// scale multiplies its input and adds a number.
const scale = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint source[]; };
layout(std430, binding = 1) writeonly buffer Out { uint result[]; };
uniform uint summand;
void main() { result[gl_GlobalInvocationID.x] = source[gl_GlobalInvocationID.x] * 3u + summand; }
`

func sourceOf(t testing.TB, name, body string) *shader.Source {
	t.Helper()
	s, err := shader.NewSource(name, "#version 450 core\n"+body, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const words = 256

// scaleJob returns a job of the scale kernel, with a poisoned output.
func scaleJob(p shadercache.Program, number uint32) (job *shadercache.Job, out []byte) {
	in := make([]byte, 4*words)
	for i := range words {
		binary.LittleEndian.PutUint32(in[4*i:], number+uint32(i))
	}
	out = slices.Repeat([]byte{0xA5}, 4*words)
	return &shadercache.Job{
		Dispatch: shadercache.Dispatch{Program: p, Groups: [3]uint32{words / 64, 1, 1}, Uniforms: []shadercache.Uniform{shadercache.Uint("summand", number)}},
		Inputs:   []shadercache.Input{{Binding: 0, Data: in}},
		Outputs:  []shadercache.Output{{Binding: 1, To: out}},
	}, out
}

func checkScale(t testing.TB, out []byte, number uint32) {
	t.Helper()
	for i := range words {
		if got, want := binary.LittleEndian.Uint32(out[4*i:]), (number+uint32(i))*3+number; got != want {
			t.Fatalf("job %d: word %d is %d, want %d", number, i, got, want)
		}
	}
}

// Jobs of one to four contexts give the same results as one, every context takes some, and
// a program is compiled once.
func TestJobsAreSpread(t *testing.T) {
	for n := 1; n <= 4; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			ctx := context.Background()
			g := openGroup(t, n, devices.Options{})
			body := fmt.Sprintf("%s // %d %d", scale, n, os.Getpid()) // in no cache
			p, err := g.Get(ctx, sourceOf(t, "scale", body))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			for rank := range n {
				if _, err := devices.On(ctx, p, rank); err != nil { // every member has it
					t.Fatal(err)
				}
			}
			var all sync.WaitGroup
			for number := range uint32(32) {
				job, out := scaleJob(p, number)
				pending, err := g.Submit(ctx, job)
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					if err := pending.Wait(ctx); err != nil {
						t.Error(err)
						return
					}
					checkScale(t, out, number)
				})
			}
			all.Wait()
			checkSpread(t, g, n, 32)
		})
	}
}

// checkSpread checks how many jobs the members took, and that one of them compiled.
func checkSpread(t *testing.T, g *devices.Group, n int, jobs uint64) {
	t.Helper()
	var total, compiles uint64
	for rank, s := range g.MemberStats() {
		if total += s.Jobs; s.Jobs == 0 {
			t.Errorf("member %d took no job", rank)
		}
		if s.Queued != 0 {
			t.Errorf("member %d has %d jobs to finish", rank, s.Queued)
		}
		member, err := g.Member(context.Background(), rank)
		if err != nil {
			t.Fatal(err)
		}
		stats, err := member.Stats(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		compiles += stats.Cache.Compiles
	}
	if total != jobs || compiles != 1 {
		t.Errorf("%d contexts took %d jobs and compiled %d programs, want %d jobs and 1", n, total, compiles, jobs)
	}
}

// Jobs of a stream are done in order, though streams run on several members.
func TestStreamsKeepTheirOrder(t *testing.T) {
	ctx := context.Background()
	g := openGroup(t, 2, devices.Options{})
	p, err := g.Get(ctx, sourceOf(t, "append", `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer List { uint count; uint list[]; };
uniform uint number;
void main() { list[count] = number; count += 1u; }
`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	const jobs = 12
	for rank := range 2 {
		list, err := g.NewBufferOn(ctx, rank, 4*(jobs+1))
		if err != nil {
			t.Fatal(err)
		}
		defer list.Release()
		s := g.Stream()
		var last shadercache.Pending
		for number := range uint32(jobs) {
			last, err = s.Submit(ctx, &shadercache.Job{Dispatch: shadercache.Dispatch{
				Program: p, Groups: [3]uint32{1, 1, 1},
				Buffers:  []shadercache.Bound{{Binding: 0, Buffer: list}},
				Uniforms: []shadercache.Uniform{shadercache.Uint("number", number)},
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer last.Release()
		}
		if err := last.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4*(jobs+1))
		if _, err := list.Read(ctx, 0, got); err != nil {
			t.Fatal(err)
		}
		for i := range uint32(jobs) {
			if number := binary.LittleEndian.Uint32(got[4*(i+1):]); number != i {
				t.Errorf("device %d: job %d ran as number %d", rank, number, i)
			}
		}
		if n := binary.LittleEndian.Uint32(got); n != jobs {
			t.Errorf("device %d: %d jobs ran, want %d", rank, n, jobs)
		}
	}
}

// A buffer that is split along any dimension has on each member the slab of its share, and
// is gathered as it was.
func TestSplitBuffers(t *testing.T) {
	ctx := context.Background()
	for n := 1; n <= 3; n++ {
		g := openGroup(t, n, devices.Options{})
		tensor := devices.Tensor{Shape: []int{4, 5, 3}, Element: 4}
		data := make([]byte, tensor.Bytes())
		for i := range len(data) / 4 {
			binary.LittleEndian.PutUint32(data[4*i:], uint32(i))
		}
		for dim := range tensor.Shape {
			s, err := g.NewSplit(ctx, tensor, dim)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write(ctx, 0, data); err != nil {
				t.Fatal(err)
			}
			for i := range s.Len() {
				part, rank := s.Part(i)
				if got, single := devices.Rank(part); !single || got != rank {
					t.Errorf("part %d is on device %d, and Rank returns %d", i, rank, got)
				}
				checkPart(t, part, tensor, dim, s.Share(i))
			}
			got := slices.Repeat([]byte{0xA5}, len(data))
			if _, err := s.Read(ctx, 0, got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, data) {
				t.Errorf("%d members, dimension %d: gathered %v, want %v", n, dim, got, data)
			}
			s.Release()
		}
	}
}

// checkPart checks each element of a part by its index in the whole tensor.
func checkPart(t *testing.T, part shadercache.Buffer, tensor devices.Tensor, dim int, share job.Share) {
	t.Helper()
	got := make([]byte, part.Size())
	if _, err := part.Read(context.Background(), 0, got); err != nil {
		t.Fatal(err)
	}
	shape := slices.Clone(tensor.Shape)
	shape[dim] = share.Len
	i := 0
	for x := range shape[0] {
		for y := range shape[1] {
			for z := range shape[2] {
				at := [3]int{x, y, z}
				at[dim] += share.First
				want := uint32((at[0]*tensor.Shape[1]+at[1])*tensor.Shape[2] + at[2])
				if have := binary.LittleEndian.Uint32(got[4*i:]); have != want {
					t.Fatalf("dimension %d, part %v: element %d is %d, want %d", dim, share, i, have, want)
				}
				i++
			}
		}
	}
	if 4*i != len(got) {
		t.Errorf("dimension %d, part %v: %d bytes, want %d", dim, share, len(got), 4*i)
	}
}

// A replica is on every member: jobs that read it run on all, and one that writes it is
// refused.
func TestReplicas(t *testing.T) {
	ctx := context.Background()
	g := openGroup(t, 2, devices.Options{})
	p, err := g.Get(ctx, sourceOf(t, "scale", scale))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	table, err := g.NewReplica(ctx, 4*words)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	job, _ := scaleJob(p, 7)
	if _, err := table.Write(ctx, 0, job.Inputs[0].Data); err != nil {
		t.Fatal(err)
	}
	// A member takes jobs once it has the program.
	idle := func() bool {
		return slices.ContainsFunc(g.MemberStats(), func(s devices.MemberStats) bool { return s.Jobs == 0 })
	}
	for n := 0; n < 8 || n < 10_000 && idle(); n++ {
		job, out := scaleJob(p, 7)
		job.Inputs = nil
		job.Buffers = []shadercache.Bound{{Binding: 0, Buffer: table, ReadOnly: true}}
		if err := g.Run(ctx, job); err != nil {
			t.Fatal(err)
		}
		checkScale(t, out, 7)
	}
	job, _ = scaleJob(p, 7)
	job.Buffers = []shadercache.Bound{{Binding: 0, Buffer: table}}
	job.Inputs = nil
	if err := g.Run(ctx, job); !errors.Is(err, shadercache.ErrInvalid) {
		t.Errorf("a job that writes a replica: %v", err)
	}
	for rank, s := range g.MemberStats() {
		if s.Jobs == 0 {
			t.Errorf("member %d ran no job", rank)
		}
	}
}

// Writes of a replica that overlap are in one order on all members.
func TestReplicasWithSeveralWriters(t *testing.T) {
	ctx := t.Context()
	g := openGroup(t, 2, devices.Options{})
	const size = 1 << 20
	table, err := g.NewReplica(ctx, size)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	for range 20 {
		var writers sync.WaitGroup
		for writer := range 4 {
			writers.Go(func() {
				if _, err := table.Write(ctx, 0, bytes.Repeat([]byte{byte(writer)}, size)); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		var first [2][1]byte
		for rank := range first {
			part, err := table.Copy(rank)
			if err == nil {
				_, err = part.Read(ctx, 0, first[rank][:])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if first[0] != first[1] {
			t.Fatalf("the copies have %d and %d", first[0], first[1])
		}
	}
}

// After a barrier every member has finished its jobs, though none was waited for.
func TestBarrier(t *testing.T) {
	ctx := context.Background()
	g := openGroup(t, 2, devices.Options{})
	p, err := g.Get(ctx, sourceOf(t, "scale", scale))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	var outs []shadercache.Buffer
	for rank := range 2 {
		for range 4 {
			out, err := g.NewBufferOn(ctx, rank, 4*words)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Release()
			job, _ := scaleJob(p, 5)
			job.Outputs, job.Buffers = nil, []shadercache.Bound{{Binding: 1, Buffer: out}}
			pending, err := g.Submit(ctx, job)
			if err != nil {
				t.Fatal(err)
			}
			defer pending.Release()
			outs = append(outs, out)
		}
	}
	if err := g.Barrier(ctx); err != nil {
		t.Fatal(err)
	}
	for rank, s := range g.MemberStats() {
		if s.Queued != 0 || s.Jobs != 4 {
			t.Errorf("member %d has %d of %d jobs to finish", rank, s.Queued, s.Jobs)
		}
	}
	for _, out := range outs {
		got := make([]byte, 4*words)
		if _, err := out.Read(ctx, 0, got); err != nil {
			t.Fatal(err)
		}
		checkScale(t, got, 5)
	}
}

// Buffers on different members cannot be used by one job.
func TestBuffersOfDifferentMembers(t *testing.T) {
	ctx := context.Background()
	g := openGroup(t, 2, devices.Options{})
	p, err := g.Get(ctx, sourceOf(t, "scale", scale))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	job, _ := scaleJob(p, 1)
	for rank := range 2 {
		b, err := g.NewBufferOn(ctx, rank, 4*words)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		job.Buffers = append(job.Buffers, shadercache.Bound{Binding: uint32(rank), Buffer: b})
	}
	if err := g.Run(ctx, job); !errors.Is(err, devices.ErrOtherMember) {
		t.Errorf("got %v, want ErrOtherMember", err)
	}
}

// Devices that are not there are errors: of Open for the first, of its member for another,
// while the first serves.
func TestADeviceThatIsNotThere(t *testing.T) {
	gltest.Open(t)
	ctx := context.Background()
	options := shadercache.Options{NoTrials: true, Context: glctx.Options{DriverCacheOff: true}}
	options.Devices = []string{"99", "0"}
	if _, err := devices.Open(devices.Options{Device: options}); !errors.Is(err, glctx.ErrNoDevice) {
		t.Errorf("the first: %v", err)
	}
	options.Devices = []string{"0", "99"}
	g, err := devices.Open(devices.Options{Device: options})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var failed *devices.DeviceError
	if _, err := g.Member(ctx, 1); !errors.As(err, &failed) || failed.Rank != 1 || !errors.Is(err, glctx.ErrNoDevice) {
		t.Errorf("the second: %v", err)
	}
	p, err := g.Get(ctx, sourceOf(t, "scale", scale))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	job, out := scaleJob(p, 3)
	if err := g.Run(ctx, job); err != nil {
		t.Fatal(err)
	}
	checkScale(t, out, 3)
}
