package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
)

// DeviceLine is a GPU in the result of a command: what EGL, the system and a context have.
type DeviceLine struct {
	glctx.Device // Index is -1 for the one that is used without --device
	cache.GPUMemory
	Driver   string `json:"driver"`   // its name and build
	Folder   string `json:"folder"`   // in the cache directory, with its programs
	Programs int    `json:"programs"` // in the folder
	Error    string `json:"error"`    // why no context can be opened; "" where one can

	Fingerprint binary.Fingerprint `json:"-"` // zero where there is an error
	Err         error              `json:"-"` // that of Error
}

// unlisted is the Index of a GPU that was not chosen by --device.
const unlisted = -1

// String returns the GPU as messages name it: "GPU 1".
func (d *DeviceLine) String() string {
	if d.Index == unlisted {
		return "the GPU"
	}
	return "GPU " + strconv.Itoa(d.Index)
}

// Option returns the value of --device that chooses the GPU.
func (d *DeviceLine) Option() string {
	if d.Index == unlisted {
		return ""
	}
	return strconv.Itoa(d.Index)
}

// fail sets why no context can be opened.
func (d *DeviceLine) fail(err error) { d.Err, d.Error = err, err.Error() }

// Context opens a context on the GPU and adds what it tells to the line. The caller closes
// it. It returns nil where none can be opened, with the reason in Err.
func (d *DeviceLine) Context(options glctx.Options) *glctx.Context {
	options.Device = d.Option()
	c, err := glctx.Open(options)
	if err != nil {
		d.fail(err)
		return nil
	}
	info := c.Info()
	d.Name, d.Driver, d.Software = info.GPU, info.Driver, info.Software()
	d.Fingerprint, d.Folder = info.Fingerprint, info.Fingerprint.DirName()
	d.Total, d.Free = c.GPUMemory()
	return c
}

// ListDevices returns the GPUs of --device, with what is known without a context, and for
// all each one that EGL lists, also software. Without the flag it is the one that a context
// chooses. It returns an error for a name that no GPU has.
func (o *Options) ListDevices() ([]DeviceLine, error) {
	if o.Device == "" {
		return []DeviceLine{{Device: glctx.Device{Index: unlisted, NUMA: -1}}}, nil
	}
	names, err := o.DeviceNames()
	if err != nil {
		return nil, err
	}
	list, err := glctx.Devices()
	if err != nil {
		return nil, err
	}
	if names == nil { // all
		for _, d := range list {
			names = append(names, strconv.Itoa(d.Index))
		}
	}
	lines := []DeviceLine{}
	for _, name := range names {
		d, err := glctx.FindDevice(list, name)
		if err != nil {
			return nil, err
		}
		lines = append(lines, DeviceLine{Device: d})
	}
	return lines, nil
}

// Devices returns the GPUs that jobs of --device run on, each described by a context that is
// opened and closed. For all they are those of shadercache.DeviceNames. A GPU without a
// context has an Error. It does not manage the driver's own cache, so that this process may
// merge it afterwards.
func (o *Options) Devices() ([]DeviceLine, error) {
	chosen := *o
	if o.Device == AllDevices {
		names, err := shadercache.DeviceNames()
		if err != nil {
			return nil, err
		}
		chosen.Device = strings.Join(names, ",")
	}
	lines, err := chosen.ListDevices()
	if err != nil {
		return nil, err
	}
	for i := range lines {
		o.Describe(&lines[i])
	}
	return lines, nil
}

// Describe opens a context on a GPU, adds what it tells to the line, and closes it.
func (o *Options) Describe(d *DeviceLine) {
	options := o.ContextOptions()
	options.DriverCacheOff = true
	if c := d.Context(options); c != nil {
		if err := c.Close(); err != nil {
			d.fail(err)
		}
	}
}

// CountPrograms sets the programs of the folder of each GPU.
func (o *Options) CountPrograms(lines []DeviceLine) error {
	_, dir, err := o.ReadDirectory()
	if err != nil || dir == nil {
		return err
	}
	infos, err := dir.Fingerprints()
	for _, f := range infos {
		for i := range lines {
			if lines[i].Folder == f.Dir {
				lines[i].Programs = f.Programs
			}
		}
	}
	return err
}

// Models returns the models among GPUs, in their order: GPUs of one model with one driver, of
// which one loads what another compiled. A GPU without a context is a model of its own.
func Models(lines []DeviceLine) (models [][]DeviceLine) {
	at := map[string]int{} // by folder
	for _, d := range lines {
		if i, known := at[d.Folder]; known && d.Err == nil {
			models[i] = append(models[i], d)
			continue
		}
		if d.Err == nil {
			at[d.Folder] = len(models)
		}
		models = append(models, []DeviceLine{d})
	}
	return models
}

// CurrentFingerprints returns the drivers of the GPUs of --device, each once. It returns the
// error of one that cannot be opened.
func (o *Options) CurrentFingerprints() ([]binary.Fingerprint, error) {
	lines, err := o.Devices()
	drivers, failed := Drivers(lines)
	return drivers, errors.Join(failed, err)
}

// Drivers returns the drivers of GPUs, each once, and the errors of those without a context.
func Drivers(lines []DeviceLine) (drivers []binary.Fingerprint, err error) {
	for _, m := range Models(lines) {
		if d := m[0]; d.Err == nil {
			drivers = append(drivers, d.Fingerprint)
		} else {
			err = errors.Join(err, fmt.Errorf("the current driver cannot be identified: %w", d.Err))
		}
	}
	return drivers, err
}

// CurrentFingerprint is CurrentFingerprints for one GPU: the driver that Open would use.
func (o *Options) CurrentFingerprint() (binary.Fingerprint, error) {
	drivers, err := o.CurrentFingerprints()
	if err != nil {
		return binary.Fingerprint{}, err
	}
	return drivers[0], nil
}
