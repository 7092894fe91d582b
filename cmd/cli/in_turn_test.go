package cli

import (
	"errors"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shadercache/shadercache/glctx"
)

// The last --device counts, and nothing behind "--" is a flag.
func TestWithDevice(t *testing.T) {
	for _, c := range []struct{ given, want []string }{
		{[]string{"--device", "0,1", "a"}, []string{"--device", "0,1", "a", "--device=1"}},
		{[]string{"a", "--device=all"}, []string{"a", "--device=all", "--device=1"}},
		{[]string{"--device", "all", "--", "-a"}, []string{"--device", "all", "--device=1", "--", "-a"}},
		{[]string{"a", "--device", "all", "--", "-a", "--", "--b"}, []string{"a", "--device", "all", "--device=1", "--", "-a", "--", "--b"}},
	} {
		cmd := &cobra.Command{}
		device := cmd.Flags().String("device", "", "")
		if err := cmd.ParseFlags(c.given); err != nil {
			t.Fatal(err)
		}
		arguments := slices.Clone(cmd.Flags().Args())
		got := withDevice(cmd, c.given, "1")
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.given, got, c.want)
		}
		again := &cobra.Command{}
		again.Flags().StringVar(device, "device", "", "")
		if err := again.ParseFlags(got); err != nil || *device != "1" || !slices.Equal(again.Flags().Args(), arguments) {
			t.Errorf("%q: %v, device %q, arguments %q", got, err, *device, again.Flags().Args())
		}
	}
}

// GPUs with one folder are one model. One that cannot be opened is no model's.
func TestModels(t *testing.T) {
	onGPU := func(index int, folder string) DeviceLine {
		return DeviceLine{Device: glctx.Device{Index: index}, Folder: folder}
	}
	broken := func(index int) DeviceLine {
		d := onGPU(index, "a")
		d.fail(errors.New("broken"))
		return d
	}
	lines := []DeviceLine{onGPU(0, "a"), onGPU(1, "b"), broken(2), onGPU(3, "a"), broken(4), onGPU(0, "a")}
	var got [][]string
	for _, turn := range turnsOf(lines, true) {
		got = append(got, turn.Devices)
	}
	if want := [][]string{{"0", "3", "0"}, {"1"}, {"2"}, {"4"}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q, want %q", got, want)
	}
	if each := turnsOf(lines, false); len(each) != len(lines) || each[5].Devices[0] != "0" || each[2].Error != "broken" {
		t.Errorf("%+v", each)
	}
}

// A list of GPUs is one for commands that take several, and a mistake for others.
func TestCheckDevice(t *testing.T) {
	for _, c := range []struct {
		device  string
		several bool
		hint    string // "" = no error
	}{
		{"0", false, ""}, {"0,1", true, ""}, {"all", true, ""}, {"", false, ""},
		{"0,1", false, "several are taken by many, some far"},
		{"all", false, "several are taken by many, some far"},
		{"0,,1", true, "tool command --help"}, {"0,all", true, "tool command --help"},
	} {
		root, o := &cobra.Command{Use: "tool"}, &Options{}
		o.Add(root, Command{Use: "many", GPUs: SeveralGPUs}, Command{Use: "child", Hidden: true, GPUs: SeveralGPUs},
			Command{Use: "some", Below: []Command{{Use: "far", GPUs: EachGPU}}})
		tested := Command{Use: "command"}
		if c.several {
			tested.GPUs = EachModel
		}
		cmd := o.build(tested)
		root.AddCommand(cmd)
		cmd.Flags().AddFlag(&pflag.Flag{Name: "device", Value: stringValue(c.device), Changed: true})
		err := checkDevice(cmd)
		if c.hint == "" && err != nil || c.hint != "" && (!errors.As(err, new(UsageError)) || HintFor(err) != c.hint) {
			t.Errorf("%q, several %v: %v, hint %q", c.device, c.several, err, HintFor(err))
		}
	}
}

// stringValue is the value of a flag that was given.
type stringValue string

func (v stringValue) String() string   { return string(v) }
func (v stringValue) Set(string) error { return nil }
func (v stringValue) Type() string     { return "string" }
