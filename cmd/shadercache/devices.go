package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/cli"
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
	Devices []deviceLine `json:"devices"` // in the order of --device, or of EGL
}

type deviceLine struct {
	Index      int    `json:"index"`       // for --device
	UUID       string `json:"uuid"`        // 32 hexadecimal digits; "" where the driver has none
	Name       string `json:"name"`        // of the GPU
	Driver     string `json:"driver"`      // its name and build
	Software   bool   `json:"software"`    // kernels run on the CPU
	TotalBytes int64  `json:"total_bytes"` // of memory; 0 = unknown
	FreeBytes  int64  `json:"free_bytes"`  // of memory; 0 = unknown
	PCI        string `json:"pci"`         // address; "" = unknown
	NUMA       int    `json:"numa"`        // node that the GPU is nearest to; -1 = unknown
	Node       string `json:"node"`        // file below /dev/dri; "" = none
	Folder     string `json:"folder"`      // in the cache directory, with its programs
	Programs   int    `json:"programs"`    // in the folder
	Error      string `json:"error"`       // why no context can be opened; "" where one can
	EGLDriver  string `json:"egl_driver"`  // name of the driver in EGL; "" = unknown
}

func newDevices(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "devices",
		DisableFlagsInUseLine: true,
		Short:                 "List the GPUs",
		Long:                  devicesUsage,
		Example:               "  shadercache devices --json | jq -r '.devices[] | select(.software | not).index'",
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		names, err := o.DeviceNames()
		if err != nil {
			return cli.Usage(cmd, err)
		}
		r, err := o.listDevices(names)
		return o.Show(r, err)
	}
	return cli.ForSeveral(o.WithResult(cmd, devicesResult{}))
}

// listDevices lists the devices with names, or all.
func (o *options) listDevices(names []string) (*devicesResult, error) {
	list, err := glctx.Devices()
	if err != nil {
		return nil, err
	}
	if names == nil {
		for _, d := range list {
			names = append(names, strconv.Itoa(d.Index))
		}
	}
	programs, err := o.programsByFolder()
	if err != nil {
		return nil, err
	}
	r := &devicesResult{Devices: []deviceLine{}}
	for _, name := range names {
		d, err := glctx.FindDevice(list, name)
		if err != nil {
			return nil, err
		}
		line := o.deviceLine(d)
		line.Programs = programs[line.Folder]
		r.Devices = append(r.Devices, line)
	}
	return r, nil
}

// programsByFolder returns the number of programs of each driver's folder.
func (o *options) programsByFolder() (map[string]int, error) {
	_, dir, err := o.ReadDirectory()
	if err != nil || dir == nil {
		return nil, err
	}
	infos, err := dir.Fingerprints()
	programs := map[string]int{}
	for _, f := range infos {
		programs[f.Dir] = f.Programs
	}
	return programs, err
}

// deviceLine opens a context on a device and describes it.
func (o *options) deviceLine(d glctx.Device) deviceLine {
	line := deviceLine{Index: d.Index, UUID: d.UUID, Name: d.Name, Software: d.Software, PCI: d.PCI, NUMA: d.NUMA, Node: d.Node, EGLDriver: d.Driver}
	options := o.ContextOptions()
	options.Device, options.DriverCacheOff = strconv.Itoa(d.Index), true
	c, err := glctx.Open(options)
	if err != nil {
		line.Error = err.Error()
		return line
	}
	line.Name, line.Driver = c.Info().GPU, c.Info().Driver
	line.Folder = c.Fingerprint().DirName()
	memory, err := c.Memory()
	line.TotalBytes, line.FreeBytes = memory.Total, memory.Free
	if err := errors.Join(err, c.Close()); err != nil {
		line.Error = err.Error()
	}
	return line
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

func (r *devicesResult) Print(w io.Writer) {
	fmt.Fprintln(w, "index\tname\tmemory\tfree\tPCI\tNUMA\tprograms\tfolder\tUUID")
	for _, d := range r.Devices {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", d.Index, orUnknown(d.Name), bytesOrUnknown(d.TotalBytes), bytesOrUnknown(d.FreeBytes),
			orUnknown(d.PCI), numaOrUnknown(d.NUMA), d.Programs, orUnknown(d.Folder), orUnknown(d.UUID))
	}
	for _, d := range r.Devices {
		if d.Error != "" {
			fmt.Fprintf(w, "device %d cannot be used: %s\n", d.Index, d.Error)
		}
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

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
