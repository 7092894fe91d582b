package main

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet/pack"
)

const pruneUsage = `Delete programs with their machine code, least recently used first, and files of
the driver's own cache that belong to no program. Deleted programs are compiled
again when they are needed. Stored texts of which no driver has a program any
more go too, when they are older than --max-age, or a month.

Ages are written 30d, 2w, 12h, 90m; sizes 500M, 2G, where K, M, G and T are
powers of 1024. Without a limit or --other-drivers, the limits of the directory
apply, stored or default: see config. Leftovers of interrupted writes are
deleted as well, and programs that were rejected more than a month ago. Files
that shadercache did not make are kept, in every directory.

--other-drivers keeps the drivers of the GPUs in --device, which may be several
or all; without it that of the one that is used.`

// pruneResult is what prune, rm and clear print.
type pruneResult struct {
	Dir    string   `json:"dir"`             // the cache directory
	DryRun bool     `json:"dry_run"`         // nothing was deleted
	Files  []string `json:"files,omitempty"` // of a dry run, below Dir
	binary.PruneReport

	Limits *limitsLine `json:"limits,omitempty"` // of the directory, where no flag set any
}

// limitsLine are the limits of a cache directory.
type limitsLine struct {
	MaxBytes int64  `json:"max_bytes"`         // limit of all files
	MaxFiles int    `json:"max_files"`         // limit of their number
	MaxAge   string `json:"max_age,omitempty"` // limit of the time since the last use
}

// pruneFlags are the flags of prune.
type pruneFlags struct {
	MaxAge       cli.Age      `flag:"max-age" help:"delete what was not used for longer than this" words:"7d 30d 90d"`
	MaxBytes     cli.ByteSize `flag:"max-bytes" help:"delete down to this size, programs and driver files together" words:"100M 500M 1G"`
	MaxFiles     int          `flag:"max-files" help:"delete down to this number of files, programs and driver files together" must:"above 0"`
	OtherDrivers bool         `flag:"other-drivers" help:"delete the programs of all drivers but those of --device"`
	DryRun       bool         `flag:"dry-run" help:"list every file that would be deleted and delete nothing"`
}

func (o *options) pruneCommand() cli.Command {
	var f pruneFlags
	return cli.Command{
		Use:     "prune [--max-age AGE] [--max-bytes SIZE] [--max-files N] [--other-drivers] [--dry-run]",
		Short:   "Delete programs by age, size and driver",
		Long:    pruneUsage,
		Example: "  shadercache prune --max-age 30d --max-bytes 2G --other-drivers",
		Flags:   &f, GPUs: cli.SeveralGPUs, Result: pruneResult{},
		Check: func(cmd *cobra.Command, _ []string) error {
			return cli.RefuseUnused(cmd, f.OtherDrivers, "--other-drivers", "device")
		},
		Run: func(cmd *cobra.Command, _ []string) (cli.Result, error) {
			return o.prune(f.options(cmd.Flags().Changed), f.OtherDrivers)
		},
	}
}

// options returns the limits of the command line. A limit of 0 there deletes everything; 0
// in the options is no limit.
func (f *pruneFlags) options(given func(flag string) bool) binary.PruneOptions {
	po := binary.PruneOptions{DryRun: f.DryRun, MaxFiles: f.MaxFiles}
	if given("max-age") {
		po.MaxAge = max(1, time.Duration(f.MaxAge))
	}
	if given("max-bytes") {
		po.MaxBytes = max(1, int64(f.MaxBytes))
	}
	return po
}

// useLimitsOf sets the limits of a directory, where there are no others.
func (r *pruneResult) useLimitsOf(dir *binary.Dir, po *binary.PruneOptions) error {
	if po.MaxAge != 0 || po.MaxBytes != 0 || po.MaxFiles != 0 {
		return nil
	}
	stored, err := dir.Settings()
	if err != nil {
		return cli.Hint(err, "shadercache config unset max-bytes replaces the file")
	}
	stored = stored.WithDefaults()
	po.MaxAge, po.MaxBytes, po.MaxFiles = stored.MaxAge, stored.MaxBytes, stored.MaxFiles
	r.Limits = &limitsLine{MaxBytes: stored.MaxBytes, MaxFiles: stored.MaxFiles}
	if stored.MaxAge > 0 {
		r.Limits.MaxAge = stored.MaxAge.String()
	}
	return nil
}

func (o *options) prune(po binary.PruneOptions, otherDrivers bool) (*pruneResult, error) {
	path, dir, err := o.OpenDirectory()
	r := &pruneResult{Dir: path, DryRun: po.DryRun}
	if err != nil || dir == nil {
		return r, err
	}
	if otherDrivers {
		po.OtherThan, err = o.CurrentFingerprints()
	} else {
		err = r.useLimitsOf(dir, &po)
	}
	if err != nil {
		return nil, err
	}
	r.PruneReport, err = dir.Prune(r.listing(po))
	if err == nil && !po.DryRun {
		err = pack.Recover(dir) // completes an import that was killed
	}
	return r, err
}

// listing returns options with those of the result. In a dry run they fill Files.
func (r *pruneResult) listing(po binary.PruneOptions) binary.PruneOptions {
	if po.DryRun = r.DryRun; po.DryRun {
		po.Deleted = r.listFile
	}
	return po
}

// listFile adds a file to Files, relative to Dir.
func (r *pruneResult) listFile(file string) {
	name, err := filepath.Rel(r.Dir, file)
	if err != nil {
		name = file
	}
	r.Files = append(r.Files, filepath.ToSlash(name))
}

func (r *pruneResult) Print(w io.Writer) {
	for _, file := range r.Files {
		fmt.Fprintf(w, "  %s\n", cli.EscapeName(file))
	}
	verb := "deleted"
	if r.DryRun {
		verb = "would delete"
	}
	fmt.Fprintf(w, "%s %s (%s) and %s of the driver (%s)", verb,
		cli.Plural(r.Programs, "program"), cli.ReadableBytes(r.Bytes),
		cli.Plural(r.DriverFiles, "file"), cli.ReadableBytes(r.DriverBytes))
	if r.DriverEntries > 0 {
		fmt.Fprintf(w, ", %s of its slots", cli.Plural(r.DriverEntries, "record"))
	}
	if r.Fingerprints > 0 {
		fmt.Fprintf(w, ", everything of %s", cli.Plural(r.Fingerprints, "driver"))
	}
	if r.Leftovers > 0 {
		fmt.Fprintf(w, ", %s", cli.Plural(r.Leftovers, "other file"))
	}
	fmt.Fprintf(w, "\nin %s\n", cli.EscapeName(r.Dir))
	if l := r.Limits; l != nil {
		fmt.Fprintf(w, "by the limits of the directory, see shadercache config: %s, %d files", cli.ReadableBytes(l.MaxBytes), l.MaxFiles)
		if l.MaxAge != "" {
			fmt.Fprintf(w, ", %s since the last use", l.MaxAge)
		}
		fmt.Fprintln(w)
	}
	if r.DriverInUse {
		fmt.Fprintln(w, "A process uses the driver's cache: the next start that finds it unused deletes the records.")
	}
}
