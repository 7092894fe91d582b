package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

const devicesUsage = `List the GPUs that EGL has, in the order of --device: index, name, memory, PCI
address and NUMA node, driver, UUID, and the folder in the cache directory that
serves the GPU. GPUs of one model and driver have one folder: what one of them
compiled the others load.

A context is opened on each, for its name, memory and folder; it changes nothing
in the cache directory. Fields that neither the driver nor the system has are
empty. With --device only those are listed; one that is named twice is listed
twice.`

// devicesResult is what devices prints.
type devicesResult struct {
	Devices []cli.DeviceLine `json:"devices"` // in the order of --device, or of EGL
}

func (o *options) devicesCommand() cli.Command {
	return cli.Command{
		Use:     "devices",
		Short:   "List the GPUs",
		Long:    devicesUsage,
		Example: "  shadercache devices --json | jq -r \\\n    '.devices[] | select(.software | not).index'",
		GPUs:    cli.SeveralGPUs, Result: devicesResult{},
		Run: func(*cobra.Command, []string) (cli.Result, error) { return o.listDevices() },
	}
}

// listDevices lists the devices that the flags choose, or all.
func (o *options) listDevices() (*devicesResult, error) {
	chosen := o.Options
	chosen.Device = cmp.Or(chosen.Device, cli.AllDevices)
	lines, err := chosen.ListDevices()
	if err != nil {
		return nil, err
	}
	for i := range lines {
		o.Describe(&lines[i])
	}
	return &devicesResult{lines}, o.CountPrograms(lines)
}

// Verdict returns an error where there is no device, or none can be used.
func (r *devicesResult) Verdict() error {
	for _, d := range r.Devices {
		if d.Error == "" {
			return nil
		}
	}
	if len(r.Devices) == 0 {
		return cli.Hint(errors.New("EGL has no device"), "shadercache doctor")
	}
	return cli.Hint(errors.New("no device can be used"), "shadercache doctor")
}

func (r *devicesResult) Print(w io.Writer) { printDevices(w, r.Devices) }

// printDevices prints a table of GPUs, and why some of them cannot be used.
func printDevices(w io.Writer, devices []cli.DeviceLine) {
	fmt.Fprintln(w, "index\tname\tmemory\tfree\tPCI\tNUMA\tprograms\tfolder\tUUID")
	for _, d := range devices {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", d.Index, cmp.Or(d.Name, "-"), bytesOrUnknown(d.Total), bytesOrUnknown(d.Free),
			cmp.Or(d.PCI, "-"), numaOrUnknown(d.NUMA), d.Programs, cmp.Or(d.Folder, "-"), cmp.Or(d.UUID, "-"))
	}
	for _, d := range devices {
		if d.Error != "" {
			fmt.Fprintf(w, "%s cannot be used: %s\n", &d, cli.EscapeName(d.Error))
		}
	}
}

// bytesOrUnknown returns a size for a table, "-" for an unknown one.
func bytesOrUnknown(n int64) string {
	if n == 0 {
		return "-"
	}
	return cli.ReadableBytes(n)
}

func numaOrUnknown(node int) string {
	if node < 0 {
		return "-"
	}
	return strconv.Itoa(node)
}
