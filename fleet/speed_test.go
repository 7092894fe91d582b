//go:build unix

package fleet_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/startup/link"
	"github.com/shadercache/shadercache/cmd/startup/objects"
	"github.com/shadercache/shadercache/fleet"
	_ "github.com/shadercache/shadercache/fleet/http"
)

func BenchmarkStart(b *testing.B) {
	for _, n := range []int{48, 1741} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			url, from := fileURL(b), openDir(b)
			fill(b, from, mesaDriver, n)
			began := time.Now()
			report := push(b, from, writer(url))
			b.ReportMetric(float64(time.Since(began).Milliseconds()), "push-ms")
			b.ReportMetric(float64(report.Bytes), "pack-bytes")
			var used time.Duration // of CPUs, since others may load them
			for b.Loop() {
				b.StopTimer()
				path, err := os.MkdirTemp(b.TempDir(), "")
				must(b, err)
				to, err := binary.OpenDir(path)
				must(b, err)
				r := open(b, to, reader(url))
				used -= cpuTime(b)
				b.StartTimer()
				if s := r.Start(context.Background(), mesaDriver); s.Outcome != fleet.Pulled || s.Pull.Programs != n {
					b.Fatalf("%+v", s)
				}
				used += cpuTime(b)
			}
			b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// contextTime is about the time between Prepare and Start: that of EGL and the context.
const contextTime = 40 * time.Millisecond

// BenchmarkStartFar is a start from a server that is 40 ms away, at 100 Mb/s. Its time is
// that after the context.
func BenchmarkStartFar(b *testing.B) {
	server := httptest.NewServer(&objects.Store{})
	b.Cleanup(server.Close)
	near := strings.TrimPrefix(server.URL, "http://")
	far, err := link.New(near, 40*time.Millisecond, 100_000_000)
	must(b, err)
	b.Cleanup(func() { far.Close() })
	from := openDir(b)
	fill(b, from, mesaDriver, 48)
	report := push(b, from, writer(server.URL+"/fleet"))
	for b.Loop() {
		b.StopTimer()
		o := reader("http://" + far.Addr() + "/fleet")
		o.Budget = time.Minute
		r := open(b, openDir(b), o)
		r.Prepare()
		time.Sleep(contextTime)
		b.StartTimer()
		if s := r.Start(context.Background(), mesaDriver); s.Outcome != fleet.Pulled || s.Pull.Programs != 48 {
			b.Fatalf("%+v", s)
		}
		b.StopTimer()
		must(b, r.Close())
		b.StartTimer()
	}
	b.ReportMetric(float64(report.Bytes), "pack-bytes")
}

// cpuTime returns the time that this process has used CPUs for.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
