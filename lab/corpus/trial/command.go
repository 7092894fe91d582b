package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// preloaded is the result of a preload.
type preloaded struct {
	Programs []struct {
		Name, Key, Origin, Error string
	}
	compiled, disk, failed int
	exit                   int
}

// shadercache returns a command that uses a cache directory.
func (t *trial) shadercache(cache string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(t.command, append(arguments, "--dir", t.path(cache))...)
	cmd.Dir = t.path("corpus")
	return cmd
}

// json runs a command and decodes its result. Exit codes above 1 are errors.
func (t *trial) json(cmd *exec.Cmd, result any) (exit int, err error) {
	cmd.Args = append(cmd.Args, "--json")
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	err = cmd.Run()
	if failure, ok := errors.AsType[*exec.ExitError](err); ok && failure.ExitCode() == 1 {
		exit, err = 1, nil
	}
	if err == nil && out.Len() > 0 {
		err = json.Unmarshal(out.Bytes(), result)
	}
	if err != nil || exit == 1 && out.Len() == 0 {
		text := messages.String()
		return exit, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args[1:], " "), errors.Join(err, fmt.Errorf("exit code %d", exit)), text[:min(len(text), 2000)])
	}
	return exit, nil
}

// preload preloads files of the corpus. extra are flags and variables of the environment.
func (t *trial) preload(cache string, files []string, extra ...string) (preloaded, error) {
	arguments := append([]string{"preload", "-I", "include"}, files...)
	var variables []string
	for _, e := range extra {
		if strings.HasPrefix(e, "-") {
			arguments = append(arguments, e)
		} else {
			variables = append(variables, e)
		}
	}
	cmd := t.shadercache(cache, arguments...)
	cmd.Env = append(os.Environ(), variables...)
	var p preloaded
	var err error
	p.exit, err = t.json(cmd, &p)
	for _, program := range p.Programs {
		switch {
		case program.Error != "" || program.Origin == "":
			p.failed++
		case program.Origin == "compiled":
			p.compiled++
		default:
			p.disk++
		}
	}
	return p, err
}

// missing returns the healthy programs that a preload did not get.
func (t *trial) missing(p preloaded) int {
	got := map[string]bool{}
	for _, program := range p.Programs {
		if program.Error == "" && program.Origin != "" {
			got[program.Key] = true
		}
	}
	n := 0
	for key := range t.Healthy {
		if !got[key] {
			n++
		}
	}
	return n
}

func (p preloaded) String() string {
	return fmt.Sprintf("%d compiled, %d from disk, %d failed", p.compiled, p.disk, p.failed)
}

// isolated returns the flags that have programs compiled in child processes.
func (t *trial) isolated(timeout string) []string {
	help, _ := exec.Command(t.command, "preload", "--help").Output()
	flags := []string{"--timeout=" + timeout}
	if !slices.Contains(strings.Fields(string(help)), "--no-isolate") {
		flags = append(flags, "--isolate")
	}
	return flags
}

// size returns the bytes of a cache, both layers.
func (t *trial) size(cache string) (int64, error) {
	var stats struct {
		Fingerprints []struct {
			BlobBytes int64 `json:"blob_bytes"`
		}
		DriverCacheBytes int64 `json:"driver_cache_bytes"`
	}
	_, err := t.json(t.shadercache(cache, "stats"), &stats)
	bytes := stats.DriverCacheBytes
	for _, f := range stats.Fingerprints {
		bytes += f.BlobBytes
	}
	return bytes, err
}
