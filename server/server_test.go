//go:build linux

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

func TestJobsOfEverySizeAreRight(t *testing.T) {
	f := serve(t, server.Options{})
	for _, ring := range []int{0, 4096, 256 << 10} {
		testSizes(t, f.dialWith(client.Options{Ring: ring}))
	}
	if got := f.gpu.Context.Counters().Compiles; got != 1 {
		t.Errorf("%d compiles", got)
	}
}

func testSizes(t *testing.T, c *client.Client) {
	p := program(t, c, affine)
	for _, n := range []int{1, 2, 64, 1000, 1024, 16384, 16385, 40000, 300000, 1 << 20} {
		if err := run(t.Context(), c, p, n, 3, uint32(n)); err != nil {
			t.Errorf("%d words: %v", n, err)
		}
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	f := serve(t, server.Options{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c, err := client.Dial(t.Context(), client.Options{Path: f.path, Ring: i % 2 * 64 << 10})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			p, err := c.Get(t.Context(), affine)
			if err != nil {
				t.Error(err)
				return
			}
			if err := stream(t.Context(), c, p, 200, 64, uint32(i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := f.Status().Counters; got.Jobs != 8*200 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
}

// stream runs jobs with so many in flight and checks all of them.
func stream(ctx context.Context, c *client.Client, p job.Program, jobs, depth int, seed uint32) error {
	type flying struct {
		pending   job.Pending
		got, want []byte
	}
	var ring []flying
	land := func() error {
		first := ring[0]
		ring = ring[1:]
		if err := first.pending.Wait(ctx); err != nil {
			return err
		}
		if !bytes.Equal(first.got, first.want) {
			return errors.New("a job computed wrong")
		}
		return nil
	}
	for i := range jobs {
		j, got, want := affineJob(p, 1024, seed+uint32(i), seed)
		pending, err := c.Submit(ctx, j)
		if err != nil {
			return err
		}
		if ring = append(ring, flying{pending, got, want}); len(ring) == depth {
			if err := land(); err != nil {
				return err
			}
		}
	}
	for len(ring) > 0 {
		if err := land(); err != nil {
			return err
		}
	}
	return nil
}

func TestSharedMemoryAndChains(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	p := program(t, c, affine)
	const n = 100_000
	m, err := c.NewMemory(t.Context(), 8*n)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	middle, err := c.NewBuffer(t.Context(), 4*n)
	if err != nil {
		t.Fatal(err)
	}
	copy(m.Bytes(), words(n, func(i uint32) uint32 { return i }))
	step := func(a, b uint32, buffers ...job.Bound) job.Dispatch {
		return job.Dispatch{
			Program: p, Groups: [3]uint32{(n + 63) / 64, 1, 1}, Buffers: buffers,
			Uniforms: []job.Uniform{job.Uint("a", a), job.Uint("b", b)},
		}
	}
	pending, err := c.Submit(t.Context(), &job.Job{
		Dispatch: step(3, 1, job.Bound{Binding: 1, Buffer: middle}),
		Then:     []job.Dispatch{step(5, 2, job.Bound{Binding: 0, Buffer: middle, ReadOnly: true})},
		Inputs:   []job.Input{{Binding: 0, Data: m.Bytes()[:4*n]}},
		Outputs:  []job.Output{{Binding: 1, To: m.Bytes()[4*n:][:4*n]}},
	})
	if err == nil {
		err = pending.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := words(n, func(i uint32) uint32 { return 5*(3*i+1) + 2 }); !bytes.Equal(m.Bytes()[4*n:], want) {
		t.Error("the chain computed wrong")
	}
}

func TestCompileErrorsHaveTheLogAndTheSource(t *testing.T) {
	c := serve(t, server.Options{}).dial()
	broken := shader.MustSource("broken", "layout(local_size_x = 1) in;\nvoid main() { nonsense(); }", nil)
	_, err := c.Get(t.Context(), broken)
	failure, ok := errors.AsType[*shader.CompileError](err)
	if !ok || failure.Name != "broken" || failure.Log == "" || failure.Source != broken {
		t.Fatalf("got %v", err)
	}
	if err := run(t.Context(), c, program(t, c, affine), 64, 1, 2); err != nil {
		t.Error("after a compile error: ", err)
	}
}

func TestProgramsByName(t *testing.T) {
	f := serve(t, server.Options{})
	first := f.dial()
	if _, err := first.ProgramByName(t.Context(), "affine"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("before anybody gave it: %v", err)
	}
	program(t, first, affine)
	first.Close()
	second := f.dial()
	p, err := second.ProgramByName(t.Context(), "affine")
	if err != nil {
		t.Fatal(err)
	}
	if p.Key() != affine.Key() || p.Origin() != job.Resident {
		t.Errorf("key %v, origin %s", p.Key(), p.Origin())
	}
	if err := run(t.Context(), second, p, 64, 7, 8); err != nil {
		t.Error(err)
	}
}

func TestBuffersKeepTheirBytes(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	b, err := c.NewBuffer(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1<<20)
	if _, err := b.Read(t.Context(), 0, got); err != nil || !bytes.Equal(got, make([]byte, 1<<20)) {
		t.Errorf("a new buffer is not zero: %v", err)
	}
	want := words(1<<18, func(i uint32) uint32 { return i })
	if v, err := b.Write(t.Context(), 0, want); err != nil || v != 1 {
		t.Errorf("version %d, %v", v, err)
	}
	if v, err := b.Write(t.Context(), 400, []byte("abcd")); err != nil || v != 2 {
		t.Errorf("version %d, %v", v, err)
	}
	copy(want[400:], "abcd")
	if v, err := b.Read(t.Context(), 0, got); err != nil || v != 2 || !bytes.Equal(got, want) {
		t.Errorf("version %d, %v", v, err)
	}
	other, err := c.NewBuffer(t.Context(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.(*client.Buffer).CopyFrom(t.Context(), 96, b.(*client.Buffer), 400, 4000); err != nil {
		t.Error(err)
	}
	small := make([]byte, 4000)
	if _, err := other.Read(t.Context(), 96, small); err != nil || !bytes.Equal(small, want[400:4400]) {
		t.Errorf("the copy on the device is wrong: %v", err)
	}
	if _, err := b.(*client.Buffer).CopyFrom(t.Context(), 0, b.(*client.Buffer), 4096, 16); !errors.Is(err, job.ErrInvalid) {
		t.Errorf("a copy to itself: %v", err)
	}
	foreign, err := f.dial().NewBuffer(t.Context(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.(*client.Buffer).CopyFrom(t.Context(), 0, foreign.(*client.Buffer), 0, 4096); !errors.Is(err, job.ErrInvalid) {
		t.Errorf("a copy from a buffer of another client: %v", err)
	}
	if _, err := other.(*client.Buffer).CopyFrom(t.Context(), -4, b.(*client.Buffer), 0, 4096); !errors.Is(err, job.ErrInvalid) || c.Err() != nil {
		t.Errorf("a copy to byte -4: %v, %v", err, c.Err())
	}
	b.Release()
	if _, err := other.(*client.Buffer).CopyFrom(t.Context(), 0, b.(*client.Buffer), 0, 4096); !errors.Is(err, job.ErrReleased) {
		t.Errorf("a copy from a released buffer: %v", err)
	}
}

func TestNamedBuffersOutliveTheirClients(t *testing.T) {
	f := serve(t, server.Options{})
	first := f.dial()
	b, err := first.NamedBuffer(t.Context(), "state", 4096)
	if err != nil || !b.Created() {
		t.Fatal(b, err)
	}
	if _, err := b.Write(t.Context(), 0, bytes.Repeat([]byte("x"), 4096)); err != nil {
		t.Fatal(err)
	}
	first.Close()
	second, third := f.dial(), f.dial()
	b, err = second.NamedBuffer(t.Context(), "state", 4096)
	if err != nil || b.Created() || b.Version() != 1 {
		t.Fatalf("%v, version %d", err, b.Version())
	}
	other, err := third.OpenBuffer(t.Context(), "state")
	if err != nil || other.Size() != 4096 {
		t.Fatal(err)
	}
	if _, err := third.NamedBuffer(t.Context(), "state", 8192); !errors.Is(err, job.ErrExists) {
		t.Errorf("another size: %v", err)
	}
	// Of two that replace one version, one finds out.
	if v, err := b.Replace(t.Context(), 0, []byte("aaaa"), 1, 7); err != nil || v != 7 {
		t.Errorf("version %d, %v", v, err)
	}
	if _, err := other.Replace(t.Context(), 0, []byte("bbbb"), 1, 8); !errors.Is(err, job.ErrConflict) {
		t.Errorf("the second: %v", err)
	}
	got := make([]byte, 8)
	if _, err := other.Read(t.Context(), 0, got); err != nil || string(got) != "aaaaxxxx" {
		t.Errorf("%q, %v", got, err)
	}
	if err := second.DeleteBuffer(t.Context(), "state"); err != nil {
		t.Error(err)
	}
	if _, err := third.OpenBuffer(t.Context(), "state"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("after the delete: %v", err)
	}
	if _, err := other.Read(t.Context(), 0, got); err != nil || string(got) != "aaaaxxxx" {
		t.Errorf("open while deleted: %q, %v", got, err)
	}
}

func TestIdleNamedBuffersAreDeleted(t *testing.T) {
	f := serve(t, server.Options{NamedTime: time.Millisecond, Limits: wire.Limits{Named: 1 << 20}})
	c := f.dial()
	b, err := c.NamedBuffer(t.Context(), "short", 4096)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if n := f.Status().NamedBuffers; n != 1 {
		t.Errorf("one that is in use: %d", n)
	}
	b.Release()
	eventually(t, "deleted", func() bool { return f.Status().NamedBuffers == 0 && f.Status().NamedBytes == 0 })
}

func TestNamedBuffersMakeRoomForEachOther(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Named: 3 * 4096}})
	c := f.dial()
	for i := range 5 {
		b, err := c.NamedBuffer(t.Context(), fmt.Sprint("b", i), 4096)
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	for i := range 5 {
		b, err := c.OpenBuffer(t.Context(), fmt.Sprint("b", i))
		if kept := i >= 2; kept && err != nil || !kept && !errors.Is(err, job.ErrNotFound) {
			t.Errorf("b%d: %v", i, err)
		}
		if b != nil {
			defer b.Release()
		}
	}
	if _, err := c.NamedBuffer(t.Context(), "more", 4096); !errors.Is(err, job.ErrQuota) {
		t.Errorf("with all in use: %v", err)
	}
}

func TestQuotas(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Objects: 2, Memory: 8192, Buffers: 8192, Jobs: 1}})
	c, other := f.dial(), f.dial()
	for name, make := range map[string]func(size int) (func(), error){
		"memory": func(size int) (func(), error) {
			m, err := c.NewMemory(t.Context(), size)
			return func() { m.Release() }, err
		},
		"buffer": func(size int) (func(), error) {
			b, err := c.NewBuffer(t.Context(), size)
			return func() { b.Release() }, err
		},
	} {
		if _, err := make(8196); !errors.Is(err, job.ErrQuota) {
			t.Errorf("%s: too many bytes: %v", name, err)
		}
		first, err1 := make(4096)
		if _, err := make(4100); !errors.Is(err, job.ErrQuota) {
			t.Errorf("%s: too many bytes together: %v", name, err)
		}
		_, err2 := make(4)
		_, err3 := make(4)
		if err := errors.Join(err1, err2); err != nil || !errors.Is(err3, job.ErrQuota) {
			t.Errorf("%s: %v, the third: %v", name, err, err3)
			continue
		}
		first()
		if _, err := make(4096); err != nil {
			t.Errorf("%s: after a release: %v", name, err)
		}
	}
	if err := run(t.Context(), other, program(t, other, affine), 64, 1, 2); err != nil {
		t.Error("the other client: ", err)
	}
}

func TestServerDrains(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	p := program(t, c, affine)
	var pending []job.Pending
	for i := range 50 {
		j, _, _ := affineJob(p, 4096, uint32(i), 1)
		submitted, err := c.Submit(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, submitted)
	}
	eventually(t, "accepted", func() bool { // the counter of the server has them before they are
		sessions := f.Status().Sessions
		return len(sessions) == 1 && sessions[0].Requests >= 51
	})
	f.stop()
	for i, each := range pending {
		if err := each.Wait(t.Context()); err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
	eventually(t, "ended", func() bool { return c.Err() != nil })
	if err := c.Err(); !errors.Is(err, client.ErrDraining) || !errors.Is(err, client.ErrServerGone) {
		t.Error(err)
	}
	if _, err := client.Dial(t.Context(), client.Options{Path: f.path}); !errors.Is(err, job.ErrNoServer) {
		t.Error(err)
	}
}

func TestIdleServerEnds(t *testing.T) {
	var f *fixture
	var c *client.Client
	idle := 25 * time.Millisecond
	for c == nil && idle < time.Minute { // on a busy machine it may end before its first client comes
		idle *= 2
		f = serve(t, server.Options{IdleExit: idle})
		c, _ = client.Dial(t.Context(), client.Options{Path: f.path})
	}
	if c == nil {
		t.Fatal("no session")
	}
	time.Sleep(2 * idle)
	if err := run(t.Context(), c, program(t, c, affine), 64, 1, 2); err != nil {
		t.Error("with a client: ", err)
	}
	c.Close()
	if err := <-f.done; !errors.Is(err, server.ErrIdle) {
		t.Error(err)
	}
	f.done <- nil
}

func TestStatusIsJSON(t *testing.T) {
	c := serve(t, server.Options{Version: "v1"}).dial()
	data, err := c.Status(t.Context())
	var status server.Status
	if err := errors.Join(err, json.Unmarshal(data, &status)); err != nil {
		t.Fatal(err)
	}
	if status.Version != "v1" || len(status.Sessions) != 1 || status.Sessions[0].Client != t.Name() || status.GPU == "" {
		t.Errorf("%+v", status)
	}
}
