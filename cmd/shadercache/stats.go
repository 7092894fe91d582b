package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
)

const statsUsage = `Show what the cache holds and what it has saved so far.

The first line is a summary: programs for this driver, programs of all drivers on
disk, compile time saved, and the share of requests without a compile. Then each
driver has a line; the current one is marked with *. Without OpenGL none is marked.

Programs in quarantine, which crashed or hung the driver, are listed, and suspects: a
process ended while the driver had them.

--fail-under ends with exit code 1 when the hit rate is lower, or when there were
no requests. --prometheus prints the figures for the textfile collector of
Prometheus instead; it needs no OpenGL.`

const statsExample = `  shadercache stats --fail-under 95%
  shadercache stats --prometheus > /var/lib/node_exporter/shadercache.prom`

// statsResult is what stats prints.
type statsResult struct {
	Dir              string               `json:"dir"`
	Fingerprints     []fingerprintLine    `json:"fingerprints"`
	DriverCacheBytes int64                `json:"driver_cache_bytes"`
	Quarantined      []binary.Quarantined `json:"quarantined"` // the driver crashed or hung with them
	Suspects         []binary.Quarantined `json:"suspects"`    // a process ended while the driver had them: to be tried
	Lifetime         lifetimeLine         `json:"lifetime"`

	counters binary.Counters
}

// fingerprintLine is one driver.
type fingerprintLine struct {
	Label     string        `json:"label"`
	Digest    shader.Digest `json:"digest"`
	Current   bool          `json:"current"` // the driver of this machine now
	Programs  int           `json:"programs"`
	BlobBytes int64         `json:"blob_bytes"` // on disk
	RawBytes  int64         `json:"raw_bytes"`  // as the driver made them
}

// lifetimeLine holds the counters of the directory since it was made.
type lifetimeLine struct {
	ResidentHits uint64  `json:"resident_hits"`
	DiskHits     uint64  `json:"disk_hits"`
	Compiles     uint64  `json:"compiles"`
	Rejected     uint64  `json:"rejected"`
	Evictions    uint64  `json:"evictions"`
	HitRate      float64 `json:"hit_rate"` // 0 to 1
	SavedMillis  float64 `json:"saved_ms"`
}

func newStats(o *options) *cobra.Command {
	var least cli.Percentage
	var prometheus bool
	cmd := &cobra.Command{
		Use:                   "stats [--fail-under PERCENT] [--prometheus]",
		DisableFlagsInUseLine: true,
		Short:                 "Show what the cache holds and has saved",
		Long:                  statsUsage,
		Example:               statsExample,
		Args:                  cli.UsageArgs(cli.NoArguments),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if prometheus && o.JSON {
				return cli.Usage(cmd, errors.New("--prometheus and --json exclude each other"))
			}
			r, err := o.readStats(!prometheus)
			if err != nil {
				return err
			}
			if prometheus {
				err = r.writePrometheus(o.Stdout)
			} else {
				err = o.Result(r, r.Print)
			}
			return errors.Join(err, r.missed(least))
		},
	}
	flags := cmd.Flags()
	flags.Var(&least, "fail-under", "exit code 1 when the hit rate is lower, as in 95%")
	flags.Lookup("fail-under").DefValue = ""
	flags.BoolVar(&prometheus, "prometheus", false, "print metrics for Prometheus")
	return o.WithResult(cmd, statsResult{})
}

// missed returns an error where the hit rate is below least.
func (r *statsResult) missed(least cli.Percentage) error {
	if float64(least) <= 100*r.Lifetime.HitRate {
		return nil
	}
	return cli.Hint(
		fmt.Errorf("the hit rate is %.1f%%, less than %s", 100*r.Lifetime.HitRate, &least),
		"shadercache doctor",
	)
}

// readStats reads the figures. With mark it opens OpenGL to mark the current driver.
func (o *options) readStats(mark bool) (*statsResult, error) {
	path, dir, err := o.ReadDirectory()
	r := &statsResult{Dir: path, Fingerprints: []fingerprintLine{}, Quarantined: []binary.Quarantined{}, Suspects: []binary.Quarantined{}}
	if err != nil || dir == nil {
		return r, err
	}
	infos, err := dir.Fingerprints()
	if err != nil {
		return nil, err
	}
	var current shader.Digest
	if mark && len(infos) > 0 {
		current = o.currentDriver()
	}
	for _, f := range infos {
		r.Fingerprints = append(r.Fingerprints, fingerprintLine{
			Label:     f.Label,
			Digest:    f.Digest,
			Current:   f.Digest == current,
			Programs:  f.Programs,
			BlobBytes: f.BlobBytes,
			RawBytes:  f.RawBytes,
		})
	}
	lifetime, err := dir.Lifetime()
	if err != nil {
		return nil, err
	}
	r.counters, r.Lifetime = lifetime, newLifetimeLine(lifetime)
	r.DriverCacheBytes = drivercache.Bytes(dir.DriverDir())
	return r, o.ForStores(dir, func(_ string, store *binary.Store) error {
		for _, q := range store.Quarantined() {
			if q.Suspect {
				r.Suspects = append(r.Suspects, q)
			} else {
				r.Quarantined = append(r.Quarantined, q)
			}
		}
		return nil
	})
}

func newLifetimeLine(c binary.Counters) lifetimeLine {
	return lifetimeLine{
		ResidentHits: c.ResidentHits,
		DiskHits:     c.DiskHits,
		Compiles:     c.Compiles,
		Rejected:     c.Rejected,
		Evictions:    c.Evictions,
		HitRate:      c.HitRate(),
		SavedMillis:  cli.Milliseconds(time.Duration(c.SavedNanos)),
	}
}

// currentDriver returns the digest of the current driver, or one that is no driver's.
func (o *options) currentDriver() shader.Digest {
	fingerprint, err := o.CurrentFingerprint()
	if err != nil {
		o.Logger().Info("no OpenGL, so no driver is marked", "reason", err)
	}
	return fingerprint.Digest()
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
	fmt.Fprintf(w, "%s cached, %d on disk, %s saved, %.0f%% hit rate\n",
		cli.Plural(usable, "program"), onDisk, cli.ReadableDuration(max(saved, 0)), 100*r.Lifetime.HitRate)
	fmt.Fprintf(w, "in %s, with %s of the driver's own cache\n", r.Dir, cli.ReadableBytes(r.DriverCacheBytes))
	if len(r.Fingerprints) == 0 {
		return
	}
	fmt.Fprint(w, "\n \tdriver\tfingerprint\tprograms\ton disk\traw\n")
	for _, f := range r.Fingerprints {
		mark := " "
		if f.Current {
			mark = "*"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n",
			mark, f.Label, f.Digest.Short(), f.Programs, cli.ReadableBytes(f.BlobBytes), cli.ReadableBytes(f.RawBytes))
	}
	printNotes(w, "in quarantine", r.Quarantined)
	printNotes(w, "suspects, which the next start tries in a process of their own", r.Suspects)
}

func printNotes(w io.Writer, title string, notes []binary.Quarantined) {
	if len(notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for _, q := range notes {
		fmt.Fprintf(w, "  %s %s: %s\n", q.Key.Short(), cli.EscapeName(q.Name), cli.EscapeName(q.Reason))
	}
}
