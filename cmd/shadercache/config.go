package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
)

const configUsage = `Show the settings that apply, and where each comes from: a flag, the
environment, the cache directory, or the default. Variables of the environment
that drivers read win over shadercache's own values, so those that are set are
shown too.

config set stores a limit in the cache directory, for every process that uses
it:

  max-bytes   size of programs and machine code together, as in 4G; 2G by
              default
  max-files   number of their files; 100000 by default
  max-age     time since the last use, as in 30d; any by default

The library enforces them when a process ends or calls Flush, at most once a
day, as prune does; an application's own limits win. config unset restores the
default. They are in settings.json in the cache directory, see docs/format.md.`

const configExample = `  shadercache config set max-bytes 4G`

// configResult is what config prints.
type configResult struct {
	Settings []settingLine `json:"settings"` // that apply
}

// settingLine is one setting.
type settingLine struct {
	Name   string `json:"name"`   // of the flag or of the variable
	Value  string `json:"value"`  // sizes in bytes; empty: none
	Source string `json:"source"` // flag, environment, stored, default, or private: a place that is used instead
	Detail string `json:"detail"` // the flag, variable or file, or why the usual directory, or a variable, is not used
}

func (o *options) configCommand() cli.Command {
	return cli.Command{
		Use:     "config",
		Short:   "Show the settings that apply, and store limits",
		Long:    configUsage,
		Example: configExample,
		Args:    cli.KnownCommand,
		Result:  configResult{},
		Run:     func(cmd *cobra.Command, _ []string) (cli.Result, error) { return o.config(cmd) },
		Below:   []cli.Command{o.configSetCommand(), o.configUnsetCommand()},
	}
}

func (o *options) configSetCommand() cli.Command {
	return cli.Command{
		Use:     "set NAME VALUE",
		Short:   "Store a limit in the cache directory",
		Long:    "Store max-bytes, max-files or max-age in the cache directory, which is made if\nit is missing. See config --help.",
		Example: configExample,
		Args:    cli.CountArguments(2, 2, "name a setting and its value, as in config set max-bytes 4G"),
		Words:   limitNames(),
		Unused:  cli.GPUFlags, Result: configResult{},
		Run: func(cmd *cobra.Command, args []string) (cli.Result, error) {
			return o.changeLimit(cmd, args[0], func(limit *pflag.Flag) error { return store(limit, args[1]) })
		},
	}
}

func (o *options) configUnsetCommand() cli.Command {
	return cli.Command{
		Use:     "unset NAME",
		Short:   "Remove a stored limit",
		Long:    "Remove max-bytes, max-files or max-age from the cache directory. See\nconfig --help.",
		Example: "  shadercache config unset max-bytes",
		Args:    cli.OneArgument("name one setting"),
		Words:   limitNames(),
		Unused:  cli.GPUFlags, Result: configResult{},
		Run: func(cmd *cobra.Command, args []string) (cli.Result, error) {
			return o.changeLimit(cmd, args[0], func(limit *pflag.Flag) error { return limit.Value.Set("0") })
		},
	}
}

// limits returns the settings that a cache directory stores, as flags whose usage is what a value
// must be. One that is 0 is not set.
func limits(s *binary.Settings) *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Var((*cli.ByteSize)(&s.MaxBytes), "max-bytes", "above 0")
	flags.Var((*cli.Age)(&s.MaxAge), "max-age", "above 0")
	flags.IntVar(&s.MaxFiles, "max-files", s.MaxFiles, "a number above 0")
	return flags
}

// isSet reports whether a limit is stored, or a default.
func isSet(limit *pflag.Flag) bool {
	text := limit.Value.String()
	return text != "0" && text != "0s" && text[0] != '-'
}

// limitNames returns the names of all limits.
func limitNames() (names []string) {
	limits(&binary.Settings{}).VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// store sets a limit to what a user gave.
func store(limit *pflag.Flag, text string) error {
	err := limit.Value.Set(text)
	if limit.Name == "max-files" && limit.Value.String() != text || err == nil && !isSet(limit) { // 010 would be 8
		return fmt.Errorf("%s must be %s; config unset restores the default", limit.Name, limit.Usage)
	}
	return err
}

// changeLimit changes a limit that is stored, and returns the settings that apply then.
func (o *options) changeLimit(cmd *cobra.Command, name string, change func(limit *pflag.Flag) error) (*configResult, error) {
	var settings binary.Settings
	limit := limits(&settings).Lookup(name)
	if limit == nil {
		return nil, cli.Usage(cmd, fmt.Errorf("%q is not a setting that can be stored: %s are", name, strings.Join(limitNames(), ", ")))
	}
	if err := change(limit); err != nil { // before a directory is made
		return nil, cli.Usage(cmd, err)
	}
	dir, err := o.MakeDirectory()
	if err != nil {
		return nil, err
	}
	if settings, err = dir.Settings(); err != nil {
		o.Logger().Warn("the stored settings could not be read and are replaced", "reason", err)
	}
	if err = change(limit); err == nil {
		err = dir.PutSettings(settings)
	}
	if err != nil {
		return nil, err
	}
	return o.config(cmd)
}

// Sources of settings.
const (
	fromFlag        = "flag"
	fromEnvironment = "environment"
	fromStored      = "stored"
	fromDefault     = "default"
	fromPrivate     = "private"
)

// config returns the settings that apply.
func (o *options) config(cmd *cobra.Command) (*configResult, error) {
	r := &configResult{}
	if err := o.addDirectory(cmd, r); err != nil {
		return nil, err
	}
	p, _ := binary.Place{}.FromEnvironment()
	upstream := variable("upstream", p.Upstream, "", "SHADERCACHE_UPSTREAM")
	if l := o.Place().Find(); l.Private() && upstream.Value == "" && len(l.Upstream) > 0 {
		upstream = settingLine{"upstream", l.Upstream[0].Path(), fromPrivate, "it can only be read"}
	}
	r.Settings = append(r.Settings, upstream)
	for _, name := range []string{"device", "driver-cache", "log-level"} {
		r.addFlag(cmd, name)
	}
	if err := o.addLimits(r); err != nil {
		return nil, err
	}
	environment, err := cache.Options{}.FromEnvironment()
	backfill, binaries := "", variable("binaries", string(environment.Binaries), "auto", "SHADERCACHE_BINARIES")
	if environment.Backfill {
		backfill = "on"
	}
	if err != nil {
		binaries = settingLine{"binaries", "auto", fromDefault, err.Error()}
	}
	r.Settings = append(r.Settings, variable("backfill", backfill, "off", "SHADERCACHE_BACKFILL"), binaries)
	r.addFlag(cmd, "api")
	r.addRemote()
	r.addDriverVariables()
	return r, nil
}

// variable returns the setting of a variable, which has a usual value where none is given.
func variable(name, value, usual, variable string) settingLine {
	if value == "" {
		return settingLine{name, usual, fromDefault, ""}
	}
	return settingLine{name, value, fromEnvironment, variable}
}

// addFlag adds the setting of a global flag.
func (r *configResult) addFlag(cmd *cobra.Command, name string) {
	flag := cmd.Flags().Lookup(name)
	line := settingLine{name, flag.Value.String(), fromDefault, ""}
	if flag.Changed {
		line.Source, line.Detail = fromFlag, "--"+name
	}
	r.Settings = append(r.Settings, line)
}

// addRemote adds the settings of a remote; the URL without credentials.
func (r *configResult) addRemote() {
	r.Settings = append(r.Settings, variable("remote", fleet.ShownURL(os.Getenv("SHADERCACHE_REMOTE")), "", "SHADERCACHE_REMOTE"))
	for _, name := range []string{"SHADERCACHE_REMOTE_MODE", "SHADERCACHE_REMOTE_KEYS", "SHADERCACHE_REMOTE_BUDGET", "SHADERCACHE_REMOTE_SIGN_KEY",
		"SHADERCACHE_REMOTE_NAME", "SHADERCACHE_REMOTE_MIN_SEQUENCE"} {
		if value := os.Getenv(name); value != "" {
			setting := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "SHADERCACHE_"), "_", "-"))
			r.Settings = append(r.Settings, settingLine{setting, value, fromEnvironment, name})
		}
	}
}

// addDirectory adds the directory, which is the first setting.
func (o *options) addDirectory(cmd *cobra.Command, r *configResult) error {
	path, err := o.Directory()
	if err != nil {
		return err
	}
	r.addFlag(cmd, "dir")
	line, l := &r.Settings[0], o.Place().Find()
	switch line.Value = path; {
	case line.Source == fromFlag:
	case l.Private():
		line.Source, line.Detail = fromPrivate, l.Err.Error()
	case os.Getenv("SHADERCACHE_DIR") != "":
		line.Source, line.Detail = fromEnvironment, "SHADERCACHE_DIR"
	}
	return nil
}

// addLimits adds the limits that are stored.
func (o *options) addLimits(r *configResult) error {
	_, dir, err := o.ReadDirectory()
	if err != nil {
		return err
	}
	var stored binary.Settings
	file := ""
	if dir != nil {
		if stored, err = dir.Settings(); err != nil {
			return cli.Hint(err, "shadercache config unset max-bytes replaces the file")
		}
		file = dir.SettingsPath()
	}
	defaults := binary.Settings{}.WithDefaults()
	usual := limits(&defaults)
	limits(&stored).VisitAll(func(l *pflag.Flag) {
		line := settingLine{l.Name, l.Value.String(), fromStored, file}
		if !isSet(l) {
			line = settingLine{l.Name, "", fromDefault, ""}
			if d := usual.Lookup(l.Name); isSet(d) {
				line.Value = d.Value.String()
			}
		}
		r.Settings = append(r.Settings, line)
	})
	return nil
}

// driverVariables begin the names of variables that drivers read for their own cache.
var driverVariables = []string{"__GL_SHADER_DISK_CACHE", "MESA_SHADER_CACHE_", "MESA_GLSL_CACHE_", "MESA_DISK_CACHE_"}

// addDriverVariables adds the variables of the user's environment.
func (r *configResult) addDriverVariables() {
	environment := os.Environ()
	slices.Sort(environment)
	for _, setting := range environment {
		name, value, _ := strings.Cut(setting, "=")
		if slices.ContainsFunc(driverVariables, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			r.Settings = append(r.Settings, settingLine{name, value, fromEnvironment, name})
		}
	}
}

func (r *configResult) Print(w io.Writer) {
	fmt.Fprint(w, "setting\tvalue\tfrom\n")
	for _, s := range r.Settings {
		value, from := cmp.Or(s.Value, "-"), s.Source
		if s.Name == "max-bytes" && s.Value != "" {
			if n, err := strconv.ParseInt(s.Value, 10, 64); err == nil {
				value = cli.ReadableBytes(n)
			}
		}
		if s.Detail != "" {
			from += ": " + s.Detail
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", cli.EscapeName(s.Name), cli.EscapeName(value), cli.EscapeName(from))
	}
}
