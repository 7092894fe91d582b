package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// assemblyBytes is the size of a program binary of NVIDIA's driver.
const assemblyBytes = 18 << 10

// assemblyDevice makes binaries of assembly text, which compress as well as
// NVIDIA's do: 8 to 1.
type assemblyDevice struct{ *cachetest.Device }

func (d assemblyDevice) Binary(ctx context.Context, id uint32) (format uint32, payload []byte, err error) {
	format, payload, err = d.Device.Binary(ctx, id)
	if err == nil {
		copy(payload[64:], assembly(uint64(id), len(payload)-64))
	}
	return format, payload, err
}

func assembly(seed uint64, bytes int) string {
	random := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for b.Len() < bytes {
		r := random.IntN(1 << 30)
		switch r % 8 {
		case 0:
			fmt.Fprintf(&b, "LDB.F32 R%d.x, sbo_buf%d[R%d.x + %d];\n", r>>3&31, r>>8&3, r>>10&7, r>>13&255<<2)
		case 1:
			fmt.Fprintf(&b, "MUL.S R%d.x, R%d, {%d, 0, 0, 0};\n", r>>3&15, r>>7&15, r>>11&63)
		default:
			fmt.Fprintf(&b, "MAD.F32 R0.xyzw, R%d.x, R1.xyzw, R0.xyzw;\n", r>>3&7)
		}
	}
	return b.String()[:bytes]
}

// BenchmarkGetFromDisk is one Get and Release of a program whose 18 KB are on
// disk, in the page cache, with a driver that loads at no cost: file, checksum,
// decompression, crash guard, and everything else that the cache adds to
// glProgramBinary. disk-B/op is the size of the file's payload.
func BenchmarkGetFromDisk(b *testing.B) {
	dev := assemblyDevice{cachetest.NewDevice()}
	dev.Size = func(*shader.Source) int { return assemblyBytes }
	list := sources(64)
	dir := b.TempDir()
	c, err := cache.New(dev, cache.Options{Dir: dir, MaxPrograms: 1, KeepEvictedBytes: -1})
	must(b, err)
	for _, src := range list {
		getAndRelease(b, c, src)
	}
	must(b, c.Flush())
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		getAndRelease(b, c, list[n%len(list)])
		n++
	}
	if s := c.Stats(); s.DiskHits != uint64(n) || s.Compiles != uint64(len(list)) || s.StoreFailures != 0 {
		b.Errorf("%d iterations: %+v", n, s)
	}
	must(b, c.Close())
	d, err := binary.OpenDir(dir)
	must(b, err)
	report, err := d.Verify(false, nil)
	must(b, err)
	b.ReportMetric(float64(report.Bytes)/float64(len(list)), "disk-B/op")
}
