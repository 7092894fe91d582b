package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/glctx"
)

const (
	driverCheck = "driver"
	unknown     = "unknown" // in place of a text that there is not
)

// examineDevices examines the GPUs of --device, each with a context. For all they are those
// that EGL lists, also software. environment has what is wrong with its variables.
func (r *Report) examineDevices(o *cli.Options, environment []Finding) {
	glctx.ManageDriverCache(o.ContextOptions()) // before the driver is loaded for a list
	lines, err := o.ListDevices()
	if err != nil {
		r.wrong(driverCheck, fixDriver(err), "%v", err)
	}
	for _, f := range environment {
		r.wrong(f.Check, f.Fix, "%s", f.Detail)
	}
	r.Devices = append(r.Devices, lines...)
	for i := range r.Devices {
		r.aboutDevices(r.Devices[i : i+1])
		r.examineDevice(o, &r.Devices[i], environment)
	}
	r.about = ""
}

// aboutDevices sets the devices that further findings are about, where there are several.
func (r *Report) aboutDevices(lines []cli.DeviceLine) {
	r.about = ""
	if len(r.Devices) > 1 {
		r.about = names(lines)
	}
}

// names returns what chooses devices with --device, each once.
func names(lines []cli.DeviceLine) string {
	var list []string
	for _, d := range lines {
		list = append(list, d.Option())
	}
	return strings.Join(slices.Compact(list), ",")
}

// examineDevice opens a context on a GPU.
func (r *Report) examineDevice(o *cli.Options, d *cli.DeviceLine, environment []Finding) {
	context := d.Context(o.ContextOptions())
	if o.Device == "" && (context == nil || d.Software) {
		r.examineUnusedGPU("/")
	}
	if context == nil {
		r.wrong(driverCheck, fixDriver(d.Err), "%v", d.Err)
		return
	}
	defer context.Close()
	if formats := d.Fingerprint.Formats; len(formats) == 0 {
		r.wrong(driverCheck, fixFormats(environment), "%s, %s offers no program binary formats: nothing can be stored", d.Name, d.Driver)
	} else {
		r.good(driverCheck, "%s, %s, with %s; programs are made ready by %s", d.Name, d.Driver,
			cli.Plural(len(formats), "program binary format"), context.Priming())
	}
	r.examineMemory(d.GPUMemory)
	r.examineDriverCache(context.DriverCache(), bool(o.DriverCache), len(environment) > 0)
}

// examineModels examines what devices of one model share: what a remote has for them, and
// whether their binaries are used. It reports whether those of none are.
func (r *Report) examineModels(o *cli.Options, dir *binary.Dir) (unused bool) {
	if err := o.CountPrograms(r.Devices); err != nil {
		r.wrong(directoryCheck, anyDirectory, "%v", err)
	}
	models := slices.DeleteFunc(cli.Models(r.Devices), func(m []cli.DeviceLine) bool { return m[0].Err != nil })
	if len(models) == 0 {
		r.examineRemote(dir, nil)
		return r.examineBinaries(dir, nil)
	}
	unused = true
	for _, m := range models {
		r.aboutDevices(m)
		driver := &m[0].Fingerprint
		r.examineRemote(dir, driver)
		unused = r.examineBinaries(dir, driver) && unused
	}
	r.about = ""
	return unused
}

// printDevices prints a section for each device: what it is, the folder that serves it, and
// the findings about it.
func (r *Report) printDevices(w io.Writer) {
	for i, d := range r.Devices {
		fmt.Fprintf(w, "\n%s: %s\n", &d, cli.EscapeName(cmp.Or(d.Name, unknown)))
		fmt.Fprintf(w, "\tUUID\t%s\n", cmp.Or(d.UUID, unknown))
		fmt.Fprintf(w, "\tmemory\t%s\n", cmp.Or(cli.GPUMemoryText(d.GPUMemory), unknown))
		fmt.Fprintf(w, "\tfolder\t%s, %s\n", cli.EscapeName(cmp.Or(d.Folder, unknown)), cli.Plural(d.Programs, "program"))
		if first := slices.IndexFunc(r.Devices, func(other cli.DeviceLine) bool { return other.Index == d.Index }); first == i {
			r.printFindings(w, d.Option())
		}
	}
	for _, m := range cli.Models(r.Devices) {
		if about := names(m); strings.Contains(about, ",") {
			fmt.Fprintf(w, "\nGPUs %s, which share a folder\n", about)
			r.printFindings(w, about)
		}
	}
}
