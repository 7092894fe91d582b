package cli

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A list of more than one line is refused: the first one alone would count.
func TestListsHaveOneLine(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringSlice("keep", nil, "")
	for text, want := range map[string]string{"a,b": "", "a\nb": "more than one line", "a,": "empty", "": "empty"} {
		err := notEmpty{flags.Lookup("keep").Value}.Set(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A value that is given lies within the bounds of its flag, and else the flag keeps the one before.
func TestFlagsWithBounds(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, c := range []struct {
		must      string
		flag      *pflag.Flag
		good, bad []string
	}{
		{"above 0", flags.VarPF(new(ByteSize), "size", "", ""), []string{"1", "2G"}, []string{"0", "x"}},
		{"above 0", flags.VarPF(new(Age), "age", "", ""), []string{"1ns", "30d"}, []string{"0s", "-1s"}},
		{"at least 50ms", durationFlag(flags), []string{"50ms", "1h"}, []string{"49ms", "0"}},
		{"1 to 64", intFlag(flags), []string{"1", "64"}, []string{"0", "65", "-1"}},
		{"at least 0", floatFlag(flags), []string{"0", "0.5", "+Inf"}, []string{"-1", "NaN"}},
	} {
		v := bounded{c.flag.Value, c.must}
		for _, text := range c.good {
			if err := v.Set(text); err != nil {
				t.Errorf("%s: %q: %v", c.must, text, err)
			}
		}
		before := v.String()
		for _, text := range c.bad {
			if err := v.Set(text); err == nil || v.String() != before {
				t.Errorf("%s: %q was accepted: %s, %v", c.must, text, v, err)
			}
		}
	}
}

func durationFlag(flags *pflag.FlagSet) *pflag.Flag {
	flags.Duration("time", 0, "")
	return flags.Lookup("time")
}
func intFlag(flags *pflag.FlagSet) *pflag.Flag {
	flags.Int("number", 0, "")
	return flags.Lookup("number")
}
func floatFlag(flags *pflag.FlagSet) *pflag.Flag {
	flags.Float64("rate", 0, "")
	return flags.Lookup("rate")
}

// Flags keep their value where a text is refused, and their String can be Set.
func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		flag      pflag.Value
		good, bad []string
	}{
		"on|off":  {new(OnOff), []string{"on", "off"}, []string{"", "yes", "On"}},
		"percent": {new(Percentage), []string{"95%", "12.5%", "0%", "100%", "0.95%", "1%"}, []string{"", "-1", "101", "NaN", "x%", "0.95", "1"}},
		"level":   {new(LogLevel), []string{"debug", "info", "warn", "error"}, []string{"", "loud"}},
		"size":    {new(ByteSize), []string{"0", "4096"}, []string{"", "x"}},
		"age":     {new(Age), []string{"1h0m0s"}, []string{"", "x"}},
	} {
		if c.flag.Type() != name {
			t.Errorf("%s has the type %s", name, c.flag.Type())
		}
		for _, text := range c.good {
			if err := c.flag.Set(text); err != nil || c.flag.String() != text {
				t.Errorf("%s %q: %v, %v", name, text, c.flag, err)
			}
		}
		before := c.flag.String()
		for _, text := range c.bad {
			if err := c.flag.Set(text); err == nil || c.flag.String() != before {
				t.Errorf("%s %q was accepted as %v", name, text, c.flag)
			}
		}
	}
	var p Percentage
	if err := p.Set("95"); err != nil || p != 95 {
		t.Errorf("%v, %v", p, err)
	}
	if l := LogLevel(slog.LevelWarn); l.String() != "warn" {
		t.Error(l.String())
	}
}

func TestComplete(t *testing.T) {
	cmd := &cobra.Command{Use: "tool", Run: func(*cobra.Command, []string) {}}
	cmd.Flags().String("color", "", "")
	Complete(cmd, "color", "red", "green")
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"__complete", "--color", ""})
	if err := cmd.Execute(); err != nil || !strings.HasPrefix(out.String(), "red\ngreen\n") {
		t.Errorf("%q, %v", out.String(), err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a flag that does not exist was completed")
		}
	}()
	Complete(cmd, "size", "1")
}

// A field with tags is a flag, also in an embedded struct, with what the field holds as its
// default.
func TestFlagsOfAStruct(t *testing.T) {
	type inner struct {
		Size ByteSize `flag:"size" help:"of it"`
	}
	f := struct {
		inner
		Folder string        `flag:"folder,f" help:"where the DIR is" value:"DIR" files:"/"`
		Names  []string      `flag:"name" help:"one" list:"commas"`
		Each   []string      `flag:"each" help:"many" files:"png jpg"`
		Wait   time.Duration `flag:"wait" help:"how long" shown:"a while" words:"1s 2s"`
		Secret bool          `flag:"secret" help:"of tests" hidden:"yes"`
		none   int
	}{Wait: time.Second, Names: []string{"a"}}
	cmd := new(Options).build(Command{Use: "c", Flags: &f, Run: func(*cobra.Command, []string) (Result, error) { return nil, nil }})
	err := cmd.ParseFlags([]string{"-f", "x", "--name", "b,c", "--each", "d,e", "--size", "2K", "--secret"})
	if got := fmt.Sprint(err, f); got != "<nil> {{2048} x [b c] [d,e] 1s true 0}" {
		t.Error(got)
	}
	usage := strings.Join(strings.Fields(cmd.Flags().FlagUsages()), " ")
	if want := "--each stringArray many -f, --folder DIR where the DIR is --name strings one (default [a]) --size size of it --wait duration how long (default a while)"; usage != want {
		t.Errorf("%q", usage)
	}
	for flag, want := range map[string]string{"folder": "cobra_annotation_bash_completion_subdirs_in_dir", "each": cobra.BashCompFilenameExt} {
		if _, marked := cmd.Flag(flag).Annotations[want]; !marked {
			t.Errorf("--%s is completed by %v", flag, cmd.Flag(flag).Annotations)
		}
	}
	if complete, found := cmd.GetFlagCompletionFunc("wait"); !found {
		t.Error("--wait has no completions")
	} else if words, _ := complete(cmd, nil, ""); !slices.Equal(words, []string{"1s", "2s"}) {
		t.Errorf("--wait is completed by %v", words)
	}
}

// Each global flag completes, though it is none of the command's own.
func TestGlobalFlagsComplete(t *testing.T) {
	o := Options{Stdout: io.Discard, Stderr: io.Discard}
	root := o.NewRoot(&cobra.Command{Use: "tool"})
	if marks := root.PersistentFlags().Lookup("dir").Annotations; len(marks) == 0 {
		t.Error("--dir does not complete folders")
	}
	for _, flag := range []string{"api", "driver-cache", "log-level"} {
		if _, found := root.GetFlagCompletionFunc(flag); !found {
			t.Errorf("--%s has no completions", flag)
		}
	}
}
