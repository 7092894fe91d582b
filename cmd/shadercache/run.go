package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

const runUsage = `Filter a picture on the GPU, compare every pixel with the CPU, write a PNG.

With --filter all the result is a contact sheet: edge and blur above sharpen and
emboss. A picture is written only where every pixel is correct; the folder of
--out is made if it is missing. A program from disk that computes wrong is
rejected and compiled.

The first start compiles the programs, a later one finds them in the cache. The
time of get is for compiling or loading a program and making the driver finish
its work. first dispatch is its first run. It is ready when the GPU is open, or
the server connected, and the first program can run. The time to the first
result is that, running the program and reading its result back, without
decoding and comparing pictures. With a server, get is for a plan with the
program.

With --path textures pixels reach the GPU as texels of 4 or 8 bytes instead of
floats. A driver may round them otherwise: then the result is computed again
through buffers. --path faster measures both, which takes longer than one
picture; it is for comparing them.`

// runResult is what run prints.
type runResult struct {
	GPU                 string       `json:"gpu"`
	Driver              string       `json:"driver"`
	Programs            []runProgram `json:"programs"`      // in the order of their first use
	Compiles            uint64       `json:"compiles"`      // programs that the driver compiled
	DiskHits            uint64       `json:"disk_hits"`     // programs that were loaded from disk
	WrongAnswers        uint64       `json:"wrong_answers"` // programs from disk that computed wrong and were compiled
	ReadyMillis         float64      `json:"ready_ms"`      // until the first program could run
	TimeToFirstResultMs float64      `json:"time_to_first_result_ms"`
	Verified            bool         `json:"verified"`     // every result is right
	Paths               []runPath    `json:"paths"`        // of the filters, with --path; else null
	Out                 string       `json:"out"`          // the file that was written
	DriverCache         string       `json:"driver_cache"` // where the driver's own cache is
	MemoryOnly          string       `json:"memory_only"`  // why nothing is stored on disk; empty where it is
	Server              bool         `json:"server"`       // a server computed; counters are those of the time of this run

	pixels image.Point
	ready  time.Duration // the time to open the GPU
}

// runProgram is the first use of a program.
type runProgram struct {
	Name                string     `json:"name"`
	Origin              job.Origin `json:"origin"` // compiled, disk or resident
	GetMillis           float64    `json:"get_ms"`
	FirstDispatchMillis float64    `json:"first_dispatch_ms"`
}

// runFlags are the flags of run.
type runFlags struct {
	serverFlag
	Image  string `flag:"image" help:"PNG or JPEG picture (default a sample)" files:"png jpg jpeg"`
	Out    string `flag:"out" help:"PNG file to write, - for standard output (default PICTURE-FILTER.png in the working directory)" files:"png"`
	Filter string `flag:"filter"`
	Path   string `flag:"path"`

	filters []imaging.Filter // of Filter
	by      imaging.Path     // of Path
}

func (o *options) runCommand() cli.Command {
	f := runFlags{serverFlag: newServerFlag(), Filter: "edge", Path: "buffers"}
	return cli.Command{
		Use:     "run [--image FILE] [--out FILE] [--filter NAME] [--server PATH]",
		Short:   "Filter a picture on the GPU",
		Long:    runUsage,
		Example: "  shadercache run --image photo.jpg --filter all --out filtered.png",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && filepath.Ext(args[0]) != "" {
				return fmt.Errorf("name the picture with --image %s", args[0])
			}
			return cli.KnownCommand(cmd, args)
		},
		Flags: &f, Result: runResult{},
		Setup: func(cmd *cobra.Command) {
			cmd.Flag("filter").Usage = strings.Join(imaging.FilterNames(), ", ")
			cmd.Flag("path").Usage = "how pixels reach the GPU: " + strings.Join(imaging.Paths, ", ")
			cli.Complete(cmd, "path", imaging.Paths...)
			cli.Complete(cmd, "filter", imaging.FilterNames()...)
		},
		Check: func(cmd *cobra.Command, _ []string) error { return f.check(cmd) },
		Run:   func(*cobra.Command, []string) (cli.Result, error) { return nil, o.run(f) },
		Below: []cli.Command{o.runNetworkCommand()},
	}
}

// check reads the names of the filters and of the path.
func (f *runFlags) check(cmd *cobra.Command) (err error) {
	if f.filters, err = imaging.Select(f.Filter); err != nil {
		return err
	}
	if f.by, err = imaging.ParsePath(f.Path); err != nil {
		return err
	}
	return f.serverFlag.check(cmd)
}

// filterer is where pictures are filtered: a GPU of this process, or a server's.
type filterer struct {
	apply  func(imaging.Filter) (imaging.Result, error)
	counts func() error // adds to the result what its cache did in this run
	close  func() error
}

func (o *options) run(f runFlags) error {
	if err := cli.MakeFolderOf(f.outFile()); err != nil {
		return err
	}
	start := time.Now()
	ctx, stop := cli.Interruptible()
	defer stop()
	c, err := o.dialServer(ctx, f.Server)
	if err != nil {
		return err
	}
	r := &runResult{Verified: true}
	var by *filterer
	if c != nil {
		defer c.Close()
		by, err = r.served(ctx, c, time.Since(start), f)
	} else {
		by, err = o.gpuForRun(ctx, r, f)
	}
	if err != nil {
		return err
	}
	sheet, err := r.filter(by, f.filters)
	if err == nil {
		r.Out = f.outFile()
		err = o.WriteOutput(r.Out, 0o644, func(w io.Writer) error { return png.Encode(w, sheet) })
	}
	if err = errors.Join(err, by.close()); err != nil && r.Verified {
		return err
	}
	return errors.Join(err, o.Result(r, r.Print)) // also one that is wrong
}

func (f runFlags) load() (image.Image, error) {
	if f.Image == "" {
		return imaging.Sample(), nil
	}
	picture, err := imaging.Load(f.Image)
	if err != nil {
		return nil, cli.Hint(err, "--image takes a PNG or JPEG picture; without it a sample is used")
	}
	return picture, nil
}

// outFile returns --out, else the names of the picture and the filter.
func (f runFlags) outFile() string {
	if f.Out != "" {
		return f.Out
	}
	base := filepath.Base(f.Image)
	if f.Image == "" {
		base = "sample"
	}
	return strings.TrimSuffix(base, filepath.Ext(base)) + "-" + f.Filter + ".png"
}

// filter applies the filters one after the other. Where a result is wrong it returns an
// error, and the figures are those until then with Verified false.
func (r *runResult) filter(by *filterer, filters []imaging.Filter) (image.Image, error) {
	var pictures []*image.NRGBA
	for _, f := range filters {
		filtered, err := by.apply(f)
		if err != nil {
			r.Verified = !errors.As(err, new(*conv2d.MismatchError))
			return nil, err
		}
		pictures = append(pictures, filtered.Picture)
	}
	return imaging.Sheet(pictures), by.counts()
}

// gpuForRun opens the GPU of this process, and loads the picture meanwhile.
func (o *options) gpuForRun(ctx context.Context, r *runResult, f runFlags) (*filterer, error) {
	var picture image.Image
	var load errgroup.Group
	load.Go(func() (err error) {
		picture, err = f.load()
		return err
	})
	g, err := o.OpenGPU(cache.Options{})
	if err := errors.Join(load.Wait(), err); err != nil {
		if g != nil {
			err = errors.Join(err, g.Close())
		}
		return nil, err
	}
	r.GPU, r.Driver, r.DriverCache, r.MemoryOnly = g.Name(), g.Driver(), g.DriverCacheState(), g.Cache.Stats().MemoryOnly
	r.pixels = picture.Bounds().Size()
	start := time.Now()
	slot := 1 << 12 // a runner has its own memory, so small slots are enough
	if f.by != imaging.Buffers {
		slot = textureSlotBytes
	}
	if g.Executor, err = executor.New(g.Context, g.Cache, executor.Options{SlotBytes: slot, SlotJobs: 4}); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	r.ready = g.ContextTime + time.Since(start)
	runner := &conv2d.Runner{Executor: g.Executor, Programs: g.Cache, Observe: r.addPrograms}
	choice := builtinFilters()
	runner.Options.Choice = &choice
	apply := func(filter imaging.Filter) (imaging.Result, error) {
		return r.apply(ctx, g, runner, picture, filter, f.by)
	}
	counts := func() error {
		s := g.Cache.Stats()
		r.Compiles, r.DiskHits, r.WrongAnswers = s.Compiles, s.DiskHits, s.WrongAnswers
		r.DriverCache = g.DriverCacheState() // by the files that the driver has written by now
		return nil
	}
	return &filterer{apply, counts, g.Close}, nil
}

// builtinFilters returns the algorithm whose programs are built in.
func builtinFilters() conv2d.Choice {
	return conv2d.Choice{Algorithm: "direct", Params: conv2d.DirectParams{Local: 64}}
}

// addPrograms adds the programs of a run that were not used before.
func (r *runResult) addPrograms(t conv2d.Timing) {
	if len(r.Programs) == 0 {
		r.ReadyMillis = cli.Milliseconds(r.ready + t.Plan)
		r.TimeToFirstResultMs = cli.Milliseconds(r.ready + t.Plan + t.Upload + t.Run + t.Readback)
	}
	for _, used := range t.Programs {
		// A program from disk that computes wrong is compiled, and has a line for both.
		known := func(p runProgram) bool {
			return p.Name == used.Name && (p.Origin == used.Origin || used.Origin != job.Compiled)
		}
		if !slices.ContainsFunc(r.Programs, known) {
			r.Programs = append(r.Programs, runProgram{
				Name:                used.Name,
				Origin:              used.Origin,
				GetMillis:           cli.Milliseconds(t.Plan),
				FirstDispatchMillis: cli.Milliseconds(t.Run),
			})
		}
	}
}

func (r *runResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", cli.EscapeName(r.GPU))
	if len(r.Programs) > 0 { // of the path through buffers
		fmt.Fprint(w, "program\torigin\tget\tfirst dispatch\n")
	}
	for _, p := range r.Programs {
		fmt.Fprintf(w, "%s\t%v\t%.2f ms\t%.2f ms\n", p.Name, p.Origin, p.GetMillis, p.FirstDispatchMillis)
	}
	r.printPaths(w)
	fmt.Fprintf(w, "\n%s, %d from disk; ready after %.0f ms, first result after %.0f ms\n",
		cli.Plural(r.Compiles, "compile"), r.DiskHits, r.ReadyMillis, r.TimeToFirstResultMs)
	if r.WrongAnswers > 0 {
		fmt.Fprintf(w, "%s from disk computed wrong, so it was rejected and compiled\n", cli.Plural(r.WrongAnswers, "program"))
	}
	if r.Verified {
		fmt.Fprintf(w, "%dx%d pixels, all equal to the CPU's: %s\n", r.pixels.X, r.pixels.Y, cli.EscapeName(r.Out))
	}
}
