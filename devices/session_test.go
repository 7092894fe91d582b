//go:build linux

package devices_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/resident"
)

// newSession makes a session on a member.
func newSession(t *testing.T, g *devices.Group, rank int, k resident.Kernel) *resident.Session {
	t.Helper()
	member, err := g.Member(t.Context(), rank)
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := member.Local()
	if err != nil {
		t.Fatal(err)
	}
	s, err := resident.New(t.Context(), gpu.Context, gpu.Cache, k, resident.Options{Poll: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A message goes from a session on one context to one on another and back, many times, and
// each answer is three times what came, plus one.
func TestSessionsOfTwoDevicesTalk(t *testing.T) {
	g := openGroup(t, 2, devices.Options{})
	k := resident.Echo(1)
	const kind, hops = 9, 20
	var pair [2]*resident.Session
	for rank := range pair {
		pair[rank] = newSession(t, g, rank, k)
	}
	for rank, s := range pair {
		if err := s.Start(0); err != nil {
			t.Fatal(err)
		}
		if err := s.Forward(kind, pair[1-rank], 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := pair[0].Send(resident.Message{Kind: kind, A: 1}); err != nil {
		t.Fatal(err)
	}
	forwarded := func() uint64 { return pair[0].Stats().Forwarded + pair[1].Stats().Forwarded }
	for forwarded() < hops {
		time.Sleep(time.Millisecond)
	}
	for _, s := range pair {
		if err := s.Forward(kind, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	var last resident.Message
	for got := false; !got; {
		for _, s := range pair {
			if m, ok := s.TryReceive(); ok {
				last, got = m, true
			}
		}
		time.Sleep(time.Millisecond)
	}
	want := uint32(1)
	for range forwarded() + 1 {
		want = 3*want + 1
	}
	if last.A != want {
		t.Errorf("after %d messages the value is %d, want %d", forwarded(), last.A, want)
	}
	for _, s := range pair {
		if _, err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Sessions of integers and of floats continue on another context from a checkpoint, with
// the same bits as where they were saved.
func TestSessionsMoveToAnotherDevice(t *testing.T) {
	ctx := context.Background()
	g := openGroup(t, 2, devices.Options{})
	kernels := map[string]resident.Kernel{"integers": resident.Neighbours{Groups: 8, Local: 32}.Kernel()}
	if os.Getenv("SHADERCACHE_SOAK") == "1" { // else run wave, in a script of the lab's command, has the floats
		kernels["floats"] = resident.Persistence{Groups: 8, Local: 32, FMAs: 4}.Kernel()
	}
	for name, k := range kernels {
		from, to := newSession(t, g, 0, k), newSession(t, g, 1, k)
		saved := runAndSave(t, from, 10)
		var file bytes.Buffer
		if _, err := saved.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		read, err := resident.ReadCheckpoint(&file)
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Restore(ctx, read); err != nil {
			t.Fatal(err)
		}
		here, there := runAndSave(t, from, 10).States(), runAndSave(t, to, 10).States()
		if slices.Equal(saved.States(), here) {
			t.Errorf("%s: the steps changed nothing", name)
		}
		if !slices.Equal(here, there) {
			t.Errorf("%s: %v on the device that saved, %v on the other", name, here, there)
		}
	}
}

func runAndSave(t *testing.T, s *resident.Session, steps uint64) *resident.Checkpoint {
	t.Helper()
	if _, err := s.Run(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	c, err := s.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}
