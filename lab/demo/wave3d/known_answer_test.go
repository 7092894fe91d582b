//go:build linux

package wave3d

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

func init() {
	faultgl.OnProcess("volume", func(dir string) (c faultgl.Counters, err error) {
		g, err := devices.Open(devices.Options{Device: shadercache.Options{Dir: dir}})
		if err != nil {
			return c, err
		}
		err = stepVolume(context.Background(), g)
		stats, failed := g.Stats(context.Background())
		n := stats.Cache.Counters
		return faultgl.Counters{Compiles: n.Compiles, DiskHits: n.DiskHits, WrongAnswers: n.WrongAnswers}, errors.Join(err, failed, g.Close())
	})
}

func stepVolume(ctx context.Context, g *devices.Group) error {
	o := Options{Cells: [3]int{20, 10, 5}, Seed: 9}
	s, err := New(ctx, g, o)
	if err != nil {
		return err
	}
	defer s.Close()
	stepped := s.Step(ctx, 3)
	field, err := s.Field(ctx)
	want, failed := NewReference(o)
	if err := errors.Join(stepped, err, failed); err != nil {
		return err
	}
	if want.Step(3); !slices.Equal(field, want.Field()) {
		return errors.New("the volume differs")
	}
	return nil
}

// A driver that accepts the binary of a kernel and computes wrong costs a compile.
func TestLoadedKernelsGiveKnownAnswers(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	faultgl.TestKnownAnswers(t, "volume", "#version", 3)
}

// BenchmarkKnownAnswer measures what the first start with a binary spends on its check.
func BenchmarkKnownAnswer(b *testing.B) {
	gpu, err := shadercache.Open(shadercache.Options{Context: glctx.Options{DriverCacheOff: true}})
	if err != nil {
		b.Skip(err)
	}
	defer gpu.Close()
	for name, check := range map[string]func(*knownBlock) error{"wave3d_start": (*knownBlock).start, "wave3d_step": (*knownBlock).step} {
		source, err := source(name, nil)
		if err != nil {
			b.Fatal(err)
		}
		handle, err := gpu.Cache.Get(b.Context(), source)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := checkKnown(gpu, handle.Program(), 1, check); err != nil {
					b.Fatal(err)
				}
			}
		})
		handle.Release()
	}
}
