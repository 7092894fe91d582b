//go:build linux

package imaging

import (
	"flag"
	"fmt"
	"image"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
)

var keep = flag.String("keep", "", "directory to write the filtered sample pictures to")

func TestMain(m *testing.M) { gltest.Main(m) }

func newCache(t *testing.T, device cache.Device, dir string) *cache.Cache {
	t.Helper()
	c, err := cache.New(device, cache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The four filters on the sample, cold, resident and from disk: the pictures are
// the same, and the origins are what they should be.
func TestFiltersOnTheGPU(t *testing.T) {
	context, dir := gltest.Open(t), t.TempDir()
	programs := newCache(t, context, dir)
	var first []*image.NRGBA
	pass := func(name string, origins ...job.Origin) {
		t.Run(name, func(t *testing.T) {
			e, err := executor.New(context, programs, executor.Options{SlotBytes: 1 << 12, SlotJobs: 4})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			before := context.Counters().Compiles
			pictures := filterAll(t, e, programs, origins)
			compiles := uint64(0)
			if origins[0] == job.Compiled {
				compiles = 2 // conv2d_3x3 and conv2d_5x5
				first = pictures
			}
			if got := context.Counters().Compiles - before; got != compiles {
				t.Errorf("%d compiles, want %d", got, compiles)
			}
			for i, p := range pictures {
				if string(p.Pix) != string(first[i].Pix) {
					t.Errorf("picture %d differs from that of the first pass", i)
				}
			}
		})
	}
	pass("cold", job.Compiled, job.Compiled, job.Resident, job.Resident)
	pass("resident", job.Resident, job.Resident, job.Resident, job.Resident)
	if err := programs.Close(); err != nil {
		t.Fatal(err)
	}
	programs = newCache(t, context, dir)
	pass("disk", job.Disk, job.Disk, job.Resident, job.Resident)
	if *keep != "" {
		if err := WritePNG(filepath.Join(*keep, "all.png"), Sheet(first)); err != nil {
			t.Error(err)
		}
	}
}

// testPicture returns the middle of the sample, or with -keep all of it.
func testPicture() image.Image {
	whole := Sample()
	if *keep != "" {
		return whole
	}
	middle := image.Rect(160, 120, 480, 360)
	return whole.(interface {
		SubImage(r image.Rectangle) image.Image
	}).SubImage(middle)
}

func filterAll(t *testing.T, e *executor.Executor, programs executor.Programs, origins []job.Origin) (pictures []*image.NRGBA) {
	var timings []conv2d.Timing
	runner := &conv2d.Runner{Executor: e, Programs: programs, Observe: func(timing conv2d.Timing) { timings = append(timings, timing) }}
	runner.Options.Choice = &conv2d.Choice{Algorithm: "direct", Params: conv2d.DirectParams{Local: 64}}
	picture := testPicture()
	for i, f := range Filters() {
		r, err := Apply(t.Context(), runner, picture, f)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("conv2d_%dx%d", f.Side, f.Side)
		if len(timings) != i+1 || len(timings[i].Programs) != 1 || timings[i].Programs[0].Name != name || timings[i].Programs[0].Origin != origins[i] {
			t.Errorf("%s: timings %+v, want %s, %v", f.Name, timings, name, origins[i])
		}
		if !r.Report.OK() || r.Report.Elements != 3*picture.Bounds().Dx()*picture.Bounds().Dy() {
			t.Errorf("%s: %v", f.Name, r.Report)
		}
		pictures = append(pictures, r.Picture)
	}
	return pictures
}
