package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet/pack"
)

const importUsage = `Merge a file that export wrote into the cache: all of it or nothing.

The file is executable code: the driver executes the machine code in it with the
rights of the process that uses the cache. With --verify the file must be signed
with the private half of that key. Without it, only what the driver does not
execute is imported: sources, tunings, and program binaries of Mesa. --trust
imports all of a file whose signature is not verified: use it only for files
from your own machines.

Every name and every checksum is checked before anything becomes visible.
Programs of another driver or GPU are skipped: --any-driver imports them too and
needs no OpenGL, for a machine that prepares a cache for others. --device with
several GPUs, or all, imports what the file holds for any of them, and says
which it serves. What is in the cache already stays as it is.

merge_pending reports that the slots of NVIDIA's driver were in use, or had no
room for a merge, so that a later start merges them. trust is signature, caller
(--trust) or none.

The exit code is 1 when the file was refused, when executable code in it was
left out, or when all of it is for other drivers.`

// importFlags are the flags of import.
type importFlags struct {
	Verify    string       `flag:"verify" help:"public key that must have signed the file" value:"key" excludes:"trust" because:"a file that is signed with KEY is trusted"`
	Trust     bool         `flag:"trust" help:"import executable code without a verified signature"`
	AnyDriver bool         `flag:"any-driver" help:"import programs of other drivers too" excludes:"device" because:"--any-driver opens no GPU"`
	MaxBytes  cli.ByteSize `flag:"max-bytes" help:"refuse a file that unpacks to more (default 4G)" must:"above 0"`
}

// importResult is what import prints.
type importResult struct {
	Dir     string         `json:"dir"`
	Devices []importDevice `json:"devices"` // GPUs of this machine: those of --device, else the one that is used
	pack.ImportReport
}

// importDevice is a GPU of this machine.
type importDevice struct {
	cli.DeviceLine
	Served bool `json:"served"` // the file holds programs or tunings for it
}

func (o *options) importCommand() cli.Command {
	var f importFlags
	return cli.Command{
		Use:     "import FILE [--verify KEY | --trust] [--any-driver] [--max-bytes SIZE]",
		Short:   "Merge a file that export wrote into the cache",
		Long:    importUsage,
		Example: "  shadercache import --verify release.key.pub warm.scb",
		Args:    cli.OneArgument("name one file"),
		Flags:   &f, GPUs: cli.SeveralGPUs, Result: importResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.importFile(args[0], f) },
	}
}

func (o *options) importFile(file string, f importFlags) (*importResult, error) {
	take := pack.ImportOptions{Trust: f.Trust, AnyDriver: f.AnyDriver, MaxBytes: int64(f.MaxBytes)}
	if f.Verify != "" {
		key, err := pack.ReadPublicKey(f.Verify)
		if err != nil {
			return nil, err
		}
		take.VerifyKey = key
	}
	lines := []cli.DeviceLine{}
	if !f.AnyDriver {
		var err error
		if lines, err = o.Devices(); err == nil {
			take.Drivers, err = cli.Drivers(lines)
		}
		if len(take.Drivers) == 0 { // one GPU of several may be without a context
			return nil, cli.Hint(err, "--any-driver imports without OpenGL")
		}
	}
	dir, err := o.MakeDirectory()
	if err != nil {
		return nil, err
	}
	bar := o.NewBar("importing")
	take.Progress = bar.Set
	r := &importResult{Dir: dir.Path(), Devices: []importDevice{}}
	r.ImportReport, err = pack.ImportFile(file, dir, take)
	bar.Finish()
	if err == nil {
		err = o.CountPrograms(lines)
	}
	for _, d := range lines {
		served := slices.ContainsFunc(r.Contents, func(c pack.Content) bool { return c.Folder == d.Folder && c.Programs+c.Tunings > 0 })
		r.Devices = append(r.Devices, importDevice{d, served})
	}
	return r, err
}

// Verdict returns an error where code was left out, or where all programs are for other
// drivers.
func (r *importResult) Verdict() error {
	if r.UntrustedPrograms+r.UntrustedDriverFiles > 0 {
		return cli.Hint(
			fmt.Errorf("left out %s and %s of the driver: they are executable code without a verified origin",
				cli.Plural(r.UntrustedPrograms, "program"), cli.Plural(r.UntrustedDriverFiles, "file")),
			"--verify KEY imports them from a file that is signed with KEY, --trust from any file",
		)
	}
	if len(r.Fingerprints) > 0 || len(r.Skipped) == 0 {
		return nil
	}
	return cli.Hint(
		fmt.Errorf("all programs in the file are for other drivers, such as %s", r.Skipped[0].Dir),
		"--any-driver imports them",
	)
}

// printDevices prints which of several GPUs the file serves.
func (r *importResult) printDevices(w io.Writer) {
	for _, d := range r.Devices {
		switch {
		case d.Error != "":
			fmt.Fprintf(w, "%s cannot be used: %s\n", &d.DeviceLine, cli.EscapeName(d.Error))
		case d.Served:
			fmt.Fprintf(w, "serves %s, %s, whose folder %s has %s\n", &d.DeviceLine, cli.EscapeName(d.Name), d.Folder, cli.Plural(d.Programs, "program"))
		default:
			fmt.Fprintf(w, "nothing for %s, %s, with the folder %s\n", &d.DeviceLine, cli.EscapeName(d.Name), d.Folder)
		}
	}
}

func (r *importResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s, %s and %s of the driver are new (%s), %s were there before\n",
		cli.Plural(r.Programs, "program"), cli.Plural(r.Sources, "source"), cli.Plural(r.Tunings, "tuning"), cli.Plural(r.DriverFiles, "file"),
		cli.ReadableBytes(r.Bytes), cli.Plural(r.Present, "file"))
	if r.UntrustedDriverFiles == 0 { // else the error has the cause
		printWithoutCode(w, r.WithoutMachineCode)
	}
	if len(r.Devices) > 1 {
		r.printDevices(w)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(w, "skipped %s: another driver\n", cli.EscapeName(s.Dir))
	}
	switch {
	case r.Verified:
		fmt.Fprint(w, "the signature is that of the given key: executable code is trusted\n")
	case r.Trust == pack.TrustCaller:
		fmt.Fprint(w, "no key was given: executable code is trusted because of --trust\n")
	case r.Signed:
		fmt.Fprint(w, "signed; --verify checks the signature: executable code is not trusted\n")
	default:
		fmt.Fprint(w, "not signed: executable code is not trusted\n")
	}
	if r.MergePending {
		fmt.Fprint(w, "the driver's cache is in use, or has no room: its new slots are merged at a later start\n")
	}
	fmt.Fprintf(w, "in %s\n", cli.EscapeName(r.Dir))
}
