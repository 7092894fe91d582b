package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
)

const envUsage = `Print the variables that keep the driver's own cache in the cache directory.

They are those that shadercache exec sets, for programs that it cannot start.
--format is one of
  sh          eval "$(shadercache env)"                    sh, bash, zsh, dash
  fish        shadercache env --format fish | source
  csh         eval "` + "`" + `shadercache env --format csh` + "`" + `"         csh, tcsh
  systemd     Environment= lines for a [Service] section
  docker      ENV instructions for a Dockerfile
  env-file    lines for docker run --env-file
  kubernetes  the env of a container, in YAML

For a shell, variables that are already set are not changed, and a message names
those that keep another value. The directory is made ready as by exec.

The other formats are for another environment: they have every variable, nothing
is made, and --dir names the directory there. It has to be writable for the
program's user, with the folders driver/mesa and driver/nvidia.

Variables do not do what exec does at each start: hold the directory's lock, so
that prune, import and merges wait; give each of several programs a slot of
NVIDIA's driver with all that is known; copy the machine code of
$SHADERCACHE_UPSTREAM; keep drivers from writing to a volume that is full.`

const envExample = `  eval "$(shadercache env)" && glmark2 --off-screen
  shadercache --dir /var/cache/shadercache env --format systemd
  shadercache --dir /cache env --format kubernetes`

// envNote is what the files of the formats with comments say.
const envNote = "Variables do not lock the directory, nor give each program a slot of NVIDIA's driver, nor copy from an upstream directory, as shadercache exec does."

// envResult is what env prints with --json.
type envResult struct {
	Format    string        `json:"format"`    // of text
	Directory string        `json:"directory"` // the cache directory
	Variables []envVariable `json:"variables"` // to be set
	Kept      []string      `json:"kept"`      // variables, as NAME=VALUE, that have another value here and are not changed
	Text      string        `json:"text"`      // the variables in the format
	Note      string        `json:"note"`      // what variables cannot do
}

type envVariable struct {
	Name  string `json:"name"`  // of the variable
	Value string `json:"value"` // as the program gets it
}

func (o *options) envCommand() cli.Command {
	f := struct {
		Format string `flag:"format" help:"sh, fish, csh, systemd, docker, env-file or kubernetes"`
	}{envFormats[0].name}
	var format envFormat
	return cli.Command{
		Use:     "env [--format FORMAT] [flags]",
		Short:   "Print the variables of the managed driver cache",
		Long:    envUsage,
		Example: envExample,
		Flags:   &f, Unused: "device api", Result: envResult{},
		Setup: func(cmd *cobra.Command) { cli.Complete(cmd, "format", envFormatNames()...) },
		Check: func(*cobra.Command, []string) (err error) {
			format, err = findEnvFormat(f.Format)
			return err
		},
		Run: func(*cobra.Command, []string) (cli.Result, error) {
			r, err := o.env(format)
			if err != nil {
				return nil, err
			}
			if o.JSON {
				return nil, o.Result(r, nil)
			}
			_, err = io.WriteString(o.Stdout, r.Text) // as it is: Result would align and escape
			return nil, err
		},
	}
}

// env returns the variables in a format.
func (o *options) env(format envFormat) (*envResult, error) {
	find := o.variablesElsewhere
	if format.here {
		find = o.variablesHere
	}
	r := &envResult{Format: format.name, Variables: []envVariable{}, Kept: []string{}, Note: envNote}
	if err := find(r); err != nil {
		return nil, err
	}
	var err error
	r.Text, err = format.text(r.Variables)
	return r, err
}

// variablesHere adds what exec sets, in the environment of this process.
func (o *options) variablesHere(r *envResult) error {
	made, err := o.makeEnvironment()
	if err != nil {
		return err
	}
	r.Directory = made.directory
	for _, setting := range made.set {
		name, value, _ := strings.Cut(setting, "=")
		if name == drivercache.AppName {
			value = nvidia.App // the slot of this process is free when it has ended
		}
		r.Variables = append(r.Variables, envVariable{name, value})
	}
	for _, setting := range made.kept {
		r.Kept = append(r.Kept, setting)
		o.Logger().Warn("left as it is: " + setting)
	}
	return nil
}

// variablesElsewhere adds what exec sets in an environment where nothing is set.
func (o *options) variablesElsewhere(r *envResult) (err error) {
	if o.Dir == "" {
		return cli.Hint(fmt.Errorf("--format %s is for another environment, and the cache directory there is not known", r.Format),
			"name it with --dir, as in shadercache --dir /cache env --format "+r.Format)
	}
	if r.Directory, err = o.Directory(); err != nil {
		return err
	}
	r.Variables = append(r.Variables, envVariable{"SHADERCACHE_DIR", r.Directory})
	if !o.DriverCache {
		return nil
	}
	settings, _ := drivercache.Settings(filepath.Join(r.Directory, "driver"), func(string) (string, bool) { return "", false })
	for _, v := range settings {
		r.Variables = append(r.Variables, envVariable(v))
	}
	return nil
}

func findEnvFormat(name string) (envFormat, error) {
	i := slices.IndexFunc(envFormats, func(f envFormat) bool { return f.name == name })
	if i < 0 {
		return envFormat{}, fmt.Errorf("there is no format %q: --format is %s", name, strings.Join(envFormatNames(), ", "))
	}
	return envFormats[i], nil
}

func envFormatNames() (names []string) {
	for _, f := range envFormats {
		names = append(names, f.name)
	}
	return names
}
