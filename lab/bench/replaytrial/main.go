// Command replaytrial measures the starts of a program that knows nothing of shadercache:
// cold, the second one, and the first one on a machine that has replayed a recording of it,
// with the next. Each round has directories of its own. It prints one JSON object with
// medians. scripts/replay-trial runs it.
//
//	replaytrial -shadercache PATH -recording DIR -name NAME [-rounds 3] -- PROGRAM...
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/drivercache/mesa"
)

// trial is what is printed.
type trial struct {
	Name     string           `json:"name"`
	Programs int              `json:"programs"` // of the recording
	Rounds   int              `json:"rounds"`
	Replay   replayed         `json:"replay"` // of the first round
	Starts   map[string]start `json:"starts"` // cold, second, replayed, next
}

// replayed is what preload printed.
type replayed struct {
	Compiled  int `json:"compiled"`
	Refused   int `json:"refused"`
	Failed    int `json:"failed"`
	NotPrimed int `json:"not_primed"`
}

// start is the median of the starts of a kind.
type start struct {
	CPUMillis    float64 `json:"cpu_ms"`              // of the process and its children
	ShaderMillis float64 `json:"shader_ms,omitempty"` // CPU time from the first shader on, where the program prints it
	Added        float64 `json:"added"`               // entries of the driver's cache
	Found        float64 `json:"found"`               // entries that were there before
}

// shaderTime is what the programs of docs/examples print.
var shaderTime = regexp.MustCompile(`([0-9.]+) ms of CPU`)

type bench struct {
	shadercache string
	recording   string
	work        string
	command     []string
}

func main() {
	b := bench{}
	name, rounds := "", 0
	flag.StringVar(&b.shadercache, "shadercache", "shadercache", "the command")
	flag.StringVar(&b.recording, "recording", "", "the recording of the program")
	flag.StringVar(&name, "name", "", "of the program")
	flag.IntVar(&rounds, "rounds", 3, "with directories of their own")
	flag.Parse()
	b.command = flag.Args()
	t, err := b.run(name, rounds)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(t)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replaytrial:", err)
		os.Exit(1)
	}
}

func (b *bench) run(name string, rounds int) (*trial, error) {
	t := &trial{Name: name, Rounds: rounds, Starts: map[string]start{}}
	all := map[string][]start{}
	for n := range rounds {
		r, err := b.round(all)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			t.Replay, t.Programs = r, r.Compiled+r.Refused+r.Failed
		}
	}
	for kind, starts := range all {
		median := func(value func(start) float64) float64 {
			var values []float64
			for _, s := range starts {
				values = append(values, value(s))
			}
			return stats.Median(values)
		}
		t.Starts[kind] = start{
			CPUMillis:    median(func(s start) float64 { return s.CPUMillis }),
			ShaderMillis: median(func(s start) float64 { return s.ShaderMillis }),
			Added:        median(func(s start) float64 { return s.Added }),
			Found:        median(func(s start) float64 { return s.Found }),
		}
	}
	return t, nil
}

// round measures each kind of start once.
func (b *bench) round(all map[string][]start) (r replayed, err error) {
	if b.work, err = os.MkdirTemp("", "replaytrial-"); err != nil {
		return r, err
	}
	defer os.RemoveAll(b.work)
	measure := func(machine string, kinds ...string) error {
		for _, kind := range kinds {
			s, err := b.start(machine)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			all[kind] = append(all[kind], s)
		}
		return nil
	}
	if err := measure("cold", "cold", "second"); err != nil {
		return r, err
	}
	if r, err = b.replay("replayed"); err != nil {
		return r, err
	}
	return r, measure("replayed", "replayed", "next")
}

// shadercacheOn returns a command on one of the machines of a round.
func (b *bench) shadercacheOn(machine string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(b.shadercache, arguments...)
	home := filepath.Join(b.work, machine)
	cmd.Env = append(os.Environ(), "HOME="+home, "SHADERCACHE_DIR="+filepath.Join(home, "cache"),
		"XDG_CACHE_HOME="+filepath.Join(home, ".cache"), "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
	return cmd
}

func (b *bench) start(machine string) (s start, err error) {
	home := filepath.Join(b.work, machine)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return s, err
	}
	before := mesa.CountEntries(home)
	cmd := b.shadercacheOn(machine, append([]string{"exec", "--"}, b.command...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("%v: %w\n%s", b.command, err, out)
	}
	s.CPUMillis = float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds()) / 1000
	if m := shaderTime.FindSubmatch(out); m != nil {
		s.ShaderMillis, err = strconv.ParseFloat(string(m[1]), 64)
	}
	s.Found, s.Added = float64(before), float64(mesa.CountEntries(home)-before)
	return s, err
}

func (b *bench) replay(machine string) (r replayed, err error) {
	if err := os.MkdirAll(filepath.Join(b.work, machine), 0o700); err != nil {
		return r, err
	}
	cmd := b.shadercacheOn(machine, "preload", "--json", b.recording)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var result struct {
		Programs []struct{ Origin, Primed string }
		Failed   int
	}
	if jsonErr := json.Unmarshal(out, &result); jsonErr != nil {
		return r, fmt.Errorf("preload: %w", errors.Join(err, jsonErr))
	}
	r.Failed = result.Failed
	for _, p := range result.Programs {
		switch p.Origin {
		case "refused":
			r.Refused++
		case "compiled", "disk":
			r.Compiled++
		}
		if p.Primed == "not primed" {
			r.NotPrimed++
		}
	}
	return r, nil
}
