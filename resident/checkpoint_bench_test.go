//go:build linux

package resident

import (
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkCheckpointFile measures the parts of a checkpoint of 62.5 MiB: reading it back
// from the GPU, hashing it, which is part of the save, and the save. A step changes one
// chunk of 1000; "whole" discards the known content of the copies. The last file is
// compared with the session. It needs only its binary; TMPDIR selects the disk.
func BenchmarkCheckpointFile(b *testing.B) {
	for _, whole := range []bool{true, false} {
		name := "chunk"
		if whole {
			name = "whole"
		}
		b.Run(name, func(b *testing.B) {
			f := newFixture(b)
			s := f.session(spotKernel(1000), quick)
			file := OpenCheckpointFile(filepath.Join(b.TempDir(), "state"))
			var c *Checkpoint
			var spent [3]time.Duration
			var bytes int64
			keep := func() {
				run(b, s, 1)
				start := time.Now()
				var err error
				if c, err = s.Checkpoint(b.Context()); err != nil {
					b.Fatal(err)
				}
				read := time.Now()
				cut(c.pieces())
				summed := time.Now()
				written, err := file.Save(c)
				if err != nil {
					b.Fatal(err)
				}
				spent[0] += read.Sub(start)
				spent[1] += summed.Sub(read)
				spent[2] += time.Since(summed)
				bytes += written
			}
			keep()
			keep()
			spent, bytes = [3]time.Duration{}, 0
			for b.Loop() {
				if whole {
					file.held = [2]heldCopy{}
				}
				keep()
			}
			want := small(c) + chunkBytes
			if whole {
				want = size(c)
			}
			if bytes != want*int64(b.N) {
				b.Fatalf("%d saves wrote %d bytes, not %d each", b.N, bytes, want)
			}
			wantCheckpoint(b, loaded(b, file.path), c)
			for i, unit := range []string{"ms-read", "ms-sum", "ms-save"} {
				b.ReportMetric(float64(spent[i].Microseconds())/1e3/float64(b.N), unit)
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "bytes-written")
			b.ReportMetric(0, "ns/op")
		})
	}
}
