package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// severalDevices is the annotation of a command that takes several devices.
const severalDevices = "several devices"

// AllDevices is the value of --device for all GPUs.
const AllDevices = "all"

// SeveralDevices reports whether --device chooses GPUs by a list, or all: also a list of one.
func (o *Options) SeveralDevices() bool {
	return o.Device == AllDevices || strings.Contains(o.Device, ",")
}

// DeviceNames returns the GPUs of --device, as in shadercache.Options.Devices: nil for
// all.
func (o *Options) DeviceNames() ([]string, error) {
	if o.Device == "" || o.Device == AllDevices {
		return nil, nil
	}
	names := strings.Split(o.Device, ",")
	for i, name := range names {
		if names[i] = strings.TrimSpace(name); names[i] == "" || names[i] == AllDevices {
			return nil, fmt.Errorf("--device %s: give indexes and UUIDs with a comma between two, or %s", o.Device, AllDevices)
		}
	}
	return names, nil
}

// checkDevice returns a usage error for several devices where cmd takes one, or for a list
// that is none.
func checkDevice(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup("device")
	if flag == nil || !flag.Changed {
		return nil
	}
	chosen := Options{Device: flag.Value.String()}
	if !chosen.SeveralDevices() {
		return nil
	}
	if cmd.Annotations[severalDevices] == "" {
		return Usage(cmd, Hint(fmt.Errorf("--device %s: %s runs on one GPU", chosen.Device, cmd.Name()),
			"several are taken by "+strings.Join(namesForSeveral(cmd.Root(), ""), ", ")))
	}
	if _, err := chosen.DeviceNames(); err != nil {
		return Usage(cmd, err)
	}
	return nil
}

// namesForSeveral returns the commands below a command that take several GPUs, as a user
// types them.
func namesForSeveral(cmd *cobra.Command, prefix string) (names []string) {
	for _, sub := range cmd.Commands() {
		name := prefix + sub.Name()
		if sub.Annotations[severalDevices] != "" && !sub.Hidden {
			names = append(names, name)
		}
		names = append(names, namesForSeveral(sub, name+" ")...)
	}
	return names
}
