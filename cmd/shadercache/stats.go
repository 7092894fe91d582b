package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const statsUsage = `Show what the cache holds, what starts found in it, and what it has saved.

The first line has the programs for this driver, those of all drivers on disk,
and the compile time saved.

Starts are processes that got programs; preload, rebuild and tune only fill the
cache and are no starts. Of starts it shows the programs that one compiled, the
share found on disk of those that were not in memory, the share of requests that
a resident program answered, and the mean time from the begin of the cache until
the first program was ready. Then each level that a request goes through has a
line: memory, disk, the upstream directory, and remotes, whose hits and misses
are starts. A level passes its misses on to the next one; an error is no miss.
Then each driver has a line; the current one is marked with *, without OpenGL
none.

With several GPUs in --device the drivers of all of them are marked, and each
GPU has a line with its memory and the folder that serves it. GPUs of one model
share a folder. Figures of starts and levels are of the directory, for all
drivers.

Programs in quarantine, which crashed or hung the driver, are listed, and
suspects: a process ended while the driver had them.

--since counts what is older than an hour by hours, after a week by days.
--fail-under and --max-compiles fail also when there was no start. The first
start of an empty cache compiles everything: use --since, or --zero after it.

--prometheus, for its textfile collector, needs no OpenGL.`

const statsExample = `  shadercache stats --since 24h --fail-under 95%
  shadercache stats --prometheus > /var/lib/node_exporter/shadercache.prom`

// statsFlags are the flags of stats.
type statsFlags struct {
	FailUnder   cli.Percentage `flag:"fail-under" help:"exit code 1 when a smaller share was found on disk, as in 95%"`
	MaxCompiles float64        `flag:"max-compiles" help:"exit code 1 when a start compiled more on average" must:"at least 0"`
	Since       cli.Age        `flag:"since" help:"figures of starts in the latest time, as in 24h (default all)" must:"above 0"`
	Prometheus  bool           `flag:"prometheus" help:"print metrics for Prometheus" excludes:"json since device" because:"--prometheus opens no GPU and prints counters, which --since does not change"`
	Zero        bool           `flag:"zero" help:"make all figures begin again; no program is deleted" excludes:"fail-under max-compiles since" because:"--zero leaves no starts"`
}

// statsResult is what stats prints.
type statsResult struct {
	Dir              string            `json:"dir"` // the cache directory
	Fingerprints     []fingerprintLine `json:"fingerprints"`
	Devices          []cli.DeviceLine  `json:"devices"`            // those of --device, else the one that is used; none without OpenGL
	DriverCacheBytes int64             `json:"driver_cache_bytes"` // of the driver's own cache, as a limit counts them
	BenchBytes       int64             `json:"bench_bytes"`        // of the benchmarks' own cache, in bench/
	Quarantined      []noteLine        `json:"quarantined"`        // the driver crashed or hung with them
	Suspects         []noteLine        `json:"suspects"`           // a process ended while the driver had them: to be tried
	Starts           startsLine        `json:"starts"`             // what starts did since a time
	Lifetime         cli.Figures       `json:"lifetime"`           // everything since the directory was made, or since --zero, also by preload
	Levels           []levelLine       `json:"levels"`             // that requests go through, the same time as lifetime
	Seen             []fleet.Seen      `json:"seen,omitempty"`     // the latest heads of remotes
	Zeroed           bool              `json:"zeroed"`             // --zero made the figures begin again
	Exec             execLine          `json:"exec"`               // runs of exec --report since the same time as starts

	counters binary.Counters
	partial  // see missed
}

// fingerprintLine is one driver.
type fingerprintLine struct {
	binary.FingerprintInfo
	Current    bool   `json:"current"`     // the driver of one of devices
	SourceOnly string `json:"source_only"` // why its program binaries are not used; "" when they are
}

// noteLine is a program in quarantine, or a suspect.
type noteLine struct {
	binary.Quarantined
	Folder string `json:"folder"` // of its driver in the cache directory
}

// execLine sums up programs that know nothing of the cache.
type execLine struct {
	Runs int `json:"runs"`
	drivercache.Activity
}

func newExecLine(runs []binary.Run) (line execLine) {
	for _, r := range runs {
		line.Runs++
		line.Read += max(r.Read, 0)
		line.Added += r.Added
		line.Bytes += r.Bytes
	}
	return line
}

func (o *options) statsCommand() cli.Command {
	var f statsFlags
	return cli.Command{
		Use:     "stats [--since AGE] [--fail-under PERCENT] [--max-compiles N] [--zero] [--prometheus]",
		Short:   "Show what the cache holds and has saved",
		Long:    statsUsage,
		Example: statsExample,
		Flags:   &f, GPUs: cli.SeveralGPUs, Result: statsResult{},
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			r, err := o.stats(f)
			if err != nil {
				return nil, err
			}
			if r.failed = r.missed(cmd, f); f.Prometheus {
				return nil, errors.Join(r.writePrometheus(o.Stdout), r.failed)
			}
			return r, nil
		},
	}
}

// missed returns an error where starts missed what the flags require.
func (r *statsResult) missed(cmd *cobra.Command, f statsFlags) error {
	rate, compiles := cmd.Flags().Changed("fail-under"), cmd.Flags().Changed("max-compiles")
	err := error(nil)
	switch {
	case !rate && !compiles:
		return nil
	case r.Starts.Starts == 0:
		return cli.Hint(errors.New("there was no start"), "start the application, which counts when it ends or calls Flush")
	case rate && 100*r.Starts.DiskRate < float64(f.FailUnder):
		err = fmt.Errorf("starts found %.1f%% of their programs on disk, less than %s", 100*r.Starts.DiskRate, &f.FailUnder)
	case compiles && r.Starts.CompilesPerStart > f.MaxCompiles:
		err = fmt.Errorf("a start compiled %.1f programs, more than %g", r.Starts.CompilesPerStart, f.MaxCompiles)
	default:
		return nil
	}
	return cli.Hint(err, "shadercache doctor")
}

// stats reads the figures, and makes them begin again where the flags say so.
func (o *options) stats(f statsFlags) (*statsResult, error) {
	if f.Zero {
		_, dir, err := o.OpenDirectory()
		if err == nil && dir != nil {
			err = errors.Join(dir.Zero(), fleet.ZeroCounters(dir))
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := o.readStats(!f.Prometheus, time.Duration(f.Since))
	if err == nil {
		r.Zeroed = f.Zero
	}
	return r, err
}

// readStats reads the figures. With mark it opens OpenGL to mark the current driver.
func (o *options) readStats(mark bool, since time.Duration) (*statsResult, error) {
	path, dir, err := o.ReadDirectory()
	r := &statsResult{Dir: path, Fingerprints: []fingerprintLine{}, Devices: []cli.DeviceLine{}, Quarantined: []noteLine{}, Suspects: []noteLine{},
		Levels: newLevels(binary.Counters{}, fleet.Counters{})}
	if err != nil {
		return nil, err
	}
	var infos []binary.FingerprintInfo
	if dir != nil {
		if infos, err = dir.Fingerprints(); err != nil {
			return nil, err
		}
	}
	if mark && (len(infos) > 0 || o.Device != "") {
		if r.Devices, err = o.currentDevices(); err != nil {
			return nil, err
		}
	}
	if dir == nil {
		return r, nil
	}
	for _, f := range infos {
		r.Fingerprints = append(r.Fingerprints, fingerprintLine{FingerprintInfo: f, Current: isCurrent(r.Devices, f.Digest)})
	}
	lifetime, err := dir.Lifetime()
	if err != nil {
		return nil, err
	}
	r.counters, r.Lifetime = lifetime, cli.NewFigures(lifetime)
	r.Levels, r.Seen = newLevels(lifetime, fleet.DirCounters(dir)), fleet.DirSeen(dir)
	begin := beginOf(dir, since)
	r.Starts, r.Exec = newStartsLine(dir, begin), newExecLine(dir.Runs(begin))
	r.DriverCacheBytes = dir.DriverBytes()
	for _, info := range osfile.Files(bench.Dir(path)) {
		r.BenchBytes += osfile.DiskBytes(info)
	}
	return r, o.ForStores(dir, func(folder string, store *binary.Store) error {
		for i := range r.Fingerprints {
			if r.Fingerprints[i].Digest == store.Fingerprint().Digest() {
				r.Fingerprints[i].SourceOnly = store.SourceOnly()
			}
		}
		for _, q := range store.Quarantined() {
			if q.Suspect {
				r.Suspects = append(r.Suspects, noteLine{q, folder})
			} else {
				r.Quarantined = append(r.Quarantined, noteLine{q, folder})
			}
		}
		return nil
	})
}

// currentDevices returns the GPUs of --device that a context can be opened on, else the one
// that is used. Without OpenGL there is none. A --device without a context is an error; of
// several it has an error of its own.
func (o *options) currentDevices() ([]cli.DeviceLine, error) {
	lines, err := o.Devices()
	if err == nil {
		err = o.CountPrograms(lines)
	}
	if err == nil && !o.SeveralDevices() {
		err = lines[0].Err
	}
	if err != nil && o.Device == "" {
		o.Logger().Info("no OpenGL, so no driver is marked", "reason", err)
		return []cli.DeviceLine{}, nil
	}
	return lines, err
}

// isCurrent reports whether a driver is that of one of the devices.
func isCurrent(devices []cli.DeviceLine, driver shader.Digest) bool {
	return slices.ContainsFunc(devices, func(d cli.DeviceLine) bool { return d.Err == nil && d.Fingerprint.Digest() == driver })
}

func (r *statsResult) Print(w io.Writer) {
	usable, onDisk := 0, 0
	for _, f := range r.Fingerprints {
		onDisk += f.Programs
		if f.Current {
			usable += f.Programs
		}
	}
	saved := time.Duration(r.Lifetime.SavedMillis * float64(time.Millisecond))
	fmt.Fprintf(w, "%s cached, %d on disk, %s saved\n",
		cli.Plural(usable, "program"), onDisk, cli.ReadableDuration(saved))
	r.Starts.Print(w)
	if r.Exec.Runs > 0 {
		fmt.Fprintf(w, "%s of exec --report: the driver read %d entries of its own cache and added %d\n", cli.Plural(r.Exec.Runs, "run"), r.Exec.Read, r.Exec.Added)
	}
	fmt.Fprintf(w, "in %s, with %s of the driver's own cache\n", cli.EscapeName(r.Dir), cli.ReadableBytes(r.DriverCacheBytes))
	if len(r.Devices) == 1 {
		if text := cli.GPUMemoryText(r.Devices[0].GPUMemory); text != "" {
			fmt.Fprintf(w, "the GPU has %s\n", text)
		}
	}
	if r.BenchBytes > 0 {
		fmt.Fprintf(w, "benchmarks keep %s more in bench/, which clear deletes\n", cli.ReadableBytes(r.BenchBytes))
	}
	if len(r.Devices) > 1 {
		fmt.Fprintln(w)
		printDevices(w, r.Devices)
	}
	if len(r.Fingerprints) == 0 {
		return
	}
	printLevels(w, r.Levels)
	fmt.Fprint(w, "\n \tdriver\tfingerprint\tprograms\ton disk\traw\n")
	for _, f := range r.Fingerprints {
		mark := " "
		if f.Current {
			mark = "*"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n",
			mark, cli.EscapeName(f.Label), f.Digest.Short(), f.Programs, cli.ReadableBytes(f.BlobBytes), cli.ReadableBytes(f.RawBytes))
	}
	for _, f := range r.Fingerprints {
		if f.SourceOnly != "" {
			fmt.Fprintf(w, "\n%s %s, from sources only: %s\n", cli.EscapeName(f.Label), f.Digest.Short(), cli.EscapeName(f.SourceOnly))
		}
	}
	printNotes(w, "in quarantine", r.Quarantined)
	printNotes(w, "suspects, which the next start tries in a process of their own", r.Suspects)
}

func printNotes(w io.Writer, title string, notes []noteLine) {
	if len(notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for _, q := range notes {
		fmt.Fprintf(w, "  %s %s, %s: %s\n", q.Key.Short(), cli.EscapeName(q.Name), cli.EscapeName(q.Folder), cli.EscapeName(q.Reason))
	}
}
