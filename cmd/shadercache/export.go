package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/shader"
)

const exportUsage = `Write the cache into one file: program binaries, tunings, the driver's own
machine code, and stored sources. A machine with the same driver and GPU that
imports it starts as fast as this one.

FILE may be - for standard output; the result is printed to standard error then.
A device or FIFO is written to, never replaced.

The same cache always gives the same bytes. Other processes may use it
meanwhile; damaged files are left out and logged. It needs no OpenGL. The result
has what the file holds for each driver: the GPUs with that folder are served.`

// exportFlags are the flags of export.
type exportFlags struct {
	sendFlags
	NoDriverCache bool `flag:"no-driver-cache" help:"without the driver's own machine code"`
	NoSources     bool `flag:"no-sources" help:"without sources"`
}

// sendFlags are flags of commands that send what the cache has.
type sendFlags struct {
	Drivers []string `flag:"fingerprint" help:"only this driver, by its name in list or the first digits of its digest in stats (default all; repeatable)" value:"driver" list:"commas"`
	Sign    string   `flag:"sign" help:"sign with this private key, which keygen makes" value:"key"`
}

// exportResult is what export prints.
type exportResult struct {
	File      string `json:"file"`
	FileBytes int64  `json:"file_bytes"`
	Signed    bool   `json:"signed"`
	pack.ExportReport
}

func (o *options) exportCommand() cli.Command {
	var f exportFlags
	return cli.Command{
		Use:     "export FILE [--fingerprint DRIVER] [--no-driver-cache] [--no-sources] [--sign KEY]",
		Short:   "Write the cache into one file",
		Long:    exportUsage,
		Example: "  shadercache export --sign release.key warm.scb",
		Args:    cli.OneArgument("name one file"),
		Flags:   &f, Setup: o.completeFingerprints, Unused: cli.GPUFlags, Result: exportResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.export(args[0], f) },
	}
}

func (o *options) export(file string, f exportFlags) (*exportResult, error) {
	dir, err := o.DirectoryToSend()
	if err != nil {
		return nil, err
	}
	eo := pack.ExportOptions{NoDriverCache: f.NoDriverCache, NoSources: f.NoSources}
	if eo.Fingerprints, err = chosenDrivers(dir, f.Drivers); err != nil {
		return nil, err
	}
	if f.Sign != "" {
		if eo.SignKey, err = pack.ReadPrivateKey(f.Sign); err != nil {
			return nil, err
		}
	}
	bar := o.NewBar("exporting")
	eo.Progress = bar.Set
	ctx, stop := cli.Interruptible()
	defer stop()
	eo.Done = ctx.Done()
	r := &exportResult{File: file, Signed: f.Sign != ""}
	err = o.WriteOutput(file, 0o600, func(w io.Writer) error {
		counted := &countingWriter{Writer: w}
		r.ExportReport, err = pack.Export(counted, dir, eo)
		r.FileBytes = counted.bytes
		return err
	})
	bar.Finish()
	if err != nil {
		return nil, err
	}
	for _, l := range r.LeftOut {
		o.Logger().Warn("left out a damaged file", "file", l.Path, "reason", l.Reason)
	}
	return r, nil
}

// countingWriter counts what is written.
type countingWriter struct {
	io.Writer
	bytes int64
}

func (w *countingWriter) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	w.bytes += int64(n)
	return n, err
}

// chosenDrivers returns the drivers that names choose, or nil for all of them.
func chosenDrivers(dir *binary.Dir, named []string) ([]shader.Digest, error) {
	if len(named) == 0 {
		return nil, nil
	}
	infos, err := dir.Drivers()
	if err != nil {
		return nil, err
	}
	return chosenOf(infos, named, "the cache", "shadercache stats shows the drivers")
}

// chosenOf returns the fingerprints that names choose, some by each.
func chosenOf(infos []binary.FingerprintInfo, named []string, where, hint string) (chosen []shader.Digest, err error) {
	for _, name := range named {
		before := len(chosen)
		for _, info := range infos {
			if names(name, info.Dir, info.Digest) {
				chosen = append(chosen, info.Digest)
			}
		}
		if len(chosen) == before {
			return nil, cli.Hint(fmt.Errorf("%s has no driver %q", where, name), hint)
		}
	}
	return chosen, nil
}

func (r *exportResult) Print(w io.Writer) {
	signed := ""
	if r.Signed {
		signed = ", signed"
	}
	fmt.Fprintf(w, "%s: %s%s\n", cli.EscapeName(r.File), cli.ReadableBytes(r.FileBytes), signed)
	fmt.Fprintf(w, "%s of %s, %s, %s, %s of the driver, %s before compression\n",
		cli.Plural(r.Programs, "program"), cli.Plural(len(r.Fingerprints), "driver"), cli.Plural(r.Sources, "source"), cli.Plural(r.Tunings, "tuning"),
		cli.Plural(r.DriverFiles, "file"), cli.ReadableBytes(r.Bytes))
	fmt.Fprint(w, "\nfolder\tprograms\ttunings\tGPU\tdriver\n")
	for _, c := range r.Contents {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", cli.EscapeName(c.Folder), c.Programs, c.Tunings, cli.EscapeName(c.GPU), cli.EscapeName(c.Driver))
	}
	printWithoutCode(w, r.WithoutMachineCode)
}

// printWithoutCode names the drivers of which programs come without machine code.
func printWithoutCode(w io.Writer, dirs []string) {
	for _, dir := range dirs {
		fmt.Fprintf(w, "no machine code for %s: each program compiles at its first dispatch; shadercache doctor shows where the driver's own cache is\n", dir)
	}
}
