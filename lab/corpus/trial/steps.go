package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/shadercache/shadercache/lab/corpus"
)

// steps of a trial, in order.
var steps = []step{
	{"generate", (*trial).generate},
	{"preload", (*trial).cold},
	{"restart", func(t *trial) (row, error) { return t.warm("cache") }},
	{"errors", (*trial).errors},
	{"faults", (*trial).faulty},
	{"heavy", (*trial).heavy},
	{"kill -9", (*trial).kill},
	{"after the kills", (*trial).afterKills},
	{"prune to half", (*trial).prune},
	{"export", (*trial).export},
	{"import, used", (*trial).importUsed},
	{"verify", (*trial).verify},
}

// healthyFiles are the arguments that name the healthy programs.
var healthyFiles = []string{corpus.SourceDir, corpus.Manifest}

func (t *trial) generate() (row, error) {
	t.options.Faults, t.options.Heavy = true, true
	var err error
	if t.Corpus, err = corpus.Generate(t.path("corpus"), t.options); err != nil {
		return row{}, err
	}
	return row{Result: fmt.Sprintf("%+v", t.Corpus)}, nil
}

// cold preloads everything for the first time. What compiles is healthy; only programs for
// a newer GLSL may fail.
func (t *trial) cold() (row, error) {
	p, err := t.preload("cache", healthyFiles)
	if err != nil {
		return row{}, err
	}
	t.Healthy = map[string]string{}
	for _, program := range p.Programs {
		if program.Error == "" {
			t.Healthy[program.Key] = program.Name
		}
	}
	r := row{Result: p.String()}
	if p.failed > t.Corpus.Newer {
		r.Failed = fmt.Sprintf("%d programs failed, and %d need a newer GLSL", p.failed, t.Corpus.Newer)
	}
	if want := t.Corpus.Healthy - t.Corpus.Newer; len(t.Healthy) < want {
		r.Failed = fmt.Sprintf("%d healthy programs, want %d", len(t.Healthy), want)
	}
	return r, nil
}

// warm preloads again: nothing may be compiled or missing.
func (t *trial) warm(cache string) (row, error) {
	p, err := t.preload(cache, healthyFiles)
	r := row{Result: p.String(), Missing: t.missing(p)}
	if p.compiled > 0 {
		r.Failed = fmt.Sprintf("%d programs were compiled", p.compiled)
	}
	return r, err
}

// errors preloads programs that do not compile, which must all be reported.
func (t *trial) errors() (row, error) {
	p, err := t.preload("cache", []string{corpus.ErrorDir})
	r := row{Result: p.String()}
	if p.failed != t.Corpus.Errors || p.exit != 1 {
		r.Failed = fmt.Sprintf("%d programs failed of %d, exit code %d", p.failed, t.Corpus.Errors, p.exit)
	}
	return r, err
}

// faulty preloads programs on which the driver crashes and hangs, among healthy ones.
func (t *trial) faulty() (row, error) {
	if t.faults == "" {
		return row{Result: "left out: no -faults"}, nil
	}
	faults := "crash@glCompileShader:" + corpus.CrashMarker + "\nhang@glCompileShader:" + corpus.HangMarker + "\nmemory=64@glCompileShader:" + corpus.MemoryMarker
	extra := append(t.isolated("5s"), "LD_LIBRARY_PATH="+t.faults+":"+os.Getenv("LD_LIBRARY_PATH"), "SHADERCACHE_TEST_FAULT="+faults)
	p, err := t.preload("faulty", []string{corpus.FaultDir, corpus.SourceDir + "/hash"}, extra...)
	r := row{Result: p.String()}
	for _, program := range p.Programs {
		if _, healthy := t.Healthy[program.Key]; healthy && program.Error != "" {
			r.Missing++
		}
	}
	if want := t.Corpus.Faults / 3 * 2; p.failed < want {
		r.Failed = fmt.Sprintf("%d programs failed, want %d", p.failed, want)
	}
	return r, err
}

// heavy preloads programs that would take the driver minutes, each within a limit.
func (t *trial) heavy() (row, error) {
	p, err := t.preload("heavy", []string{corpus.HeavyDir}, t.isolated("10s")...)
	r := row{Result: p.String()}
	if n := len(p.Programs); n != t.Corpus.Heavy {
		r.Failed = fmt.Sprintf("%d results of %d", n, t.Corpus.Heavy)
	}
	return r, err
}

// kill kills preloads at random moments. A directory that is complete is emptied, so that
// kills meet compiling and loading.
func (t *trial) kill() (row, error) {
	random := rand.New(rand.NewPCG(t.options.Seed, 2))
	longest := t.Rows[1].Took / 4
	ended := 0
	for ; t.Kills < t.kills; t.Kills++ {
		cmd := t.shadercache("killed", append([]string{"preload", "-I", "include"}, healthyFiles...)...)
		if err := cmd.Start(); err != nil {
			return row{}, err
		}
		end := make(chan error, 1)
		go func() { end <- cmd.Wait() }()
		select {
		case <-end:
			ended++
			if err := os.RemoveAll(t.path("killed")); err != nil {
				return row{}, err
			}
		case <-time.After(50*time.Millisecond + time.Duration(random.Int64N(int64(min(longest, 4*time.Second))+1))):
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return row{}, err
			}
			<-end
		}
		if t.Kills%20 == 19 {
			fmt.Fprintf(os.Stderr, "  %d kills\n", t.Kills+1)
			if err := t.save(); err != nil {
				return row{}, err
			}
		}
	}
	return row{Result: fmt.Sprintf("%d kills, %d of complete preloads", t.Kills, ended)}, nil
}

// afterKills starts twice: the second start must have every healthy program.
func (t *trial) afterKills() (row, error) {
	first, err := t.preload("killed", healthyFiles)
	if err != nil {
		return row{}, err
	}
	r, err := t.warm("killed")
	r.Result = fmt.Sprintf("first start: %v, %d missing; second: %s", first, t.missing(first), r.Result)
	return r, err
}

// prune halves the cache and preloads what is lost.
func (t *trial) prune() (row, error) {
	before, err := t.size("cache")
	if err != nil {
		return row{}, err
	}
	if _, err := t.json(t.shadercache("cache", "prune", fmt.Sprintf("--max-bytes=%d", before/2)), &struct{}{}); err != nil {
		return row{}, err
	}
	after, err := t.size("cache")
	if err != nil {
		return row{}, err
	}
	again, err := t.preload("cache", healthyFiles)
	if err != nil {
		return row{}, err
	}
	r, err := t.warm("cache")
	r.Result = fmt.Sprintf("%d to %d KiB; then %v; then %s", before>>10, after>>10, again, r.Result)
	if after > before/2 || again.compiled == 0 || again.disk == 0 {
		r.Failed = "the cache was not pruned to half"
	}
	return r, err
}

func (t *trial) export() (row, error) {
	var out struct {
		Programs    int
		DriverFiles int `json:"driver_files"`
	}
	_ = os.Remove(t.path("cache.scb"))
	exit, err := t.json(t.shadercache("cache", "export", "../cache.scb"), &out)
	r := row{Result: fmt.Sprintf("%d programs, %d driver files", out.Programs, out.DriverFiles)}
	if exit != 0 || out.Programs < len(t.Healthy) {
		r.Failed = fmt.Sprintf("%d programs of %d, exit code %d", out.Programs, len(t.Healthy), exit)
	}
	return r, err
}

// importUsed imports into a directory that has some of the programs, and is used by a
// preload meanwhile.
func (t *trial) importUsed() (row, error) {
	used, err := t.preload("used", []string{corpus.SourceDir + "/hash", corpus.SourceDir + "/gemm"})
	if err != nil {
		return row{}, err
	}
	meanwhile := t.shadercache("used", "preload", "-I", "include", corpus.SourceDir+"/scan", corpus.SourceDir+"/hash")
	meanwhile.Stdout, meanwhile.Stderr = io.Discard, io.Discard
	if err := meanwhile.Start(); err != nil {
		return row{}, err
	}
	var in struct{ Programs, Present int }
	exit, err := t.json(t.shadercache("used", "import", "--trust", "../cache.scb"), &in)
	stopped := meanwhile.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](stopped); ok && failed.ExitCode() == 1 {
		stopped = nil // a driver does not compile all of the corpus
	}
	if err := errors.Join(err, stopped); err != nil {
		return row{}, err
	}
	r, err := t.warm("used")
	r.Result = fmt.Sprintf("%d programs before, %d imported, %d present; then %s", used.compiled, in.Programs, in.Present, r.Result)
	if exit != 0 {
		r.Failed = fmt.Sprintf("exit code %d", exit)
	}
	return r, err
}

// verify reads every byte of every cache of healthy programs.
func (t *trial) verify() (row, error) {
	r := row{Result: "cache, killed, used"}
	for _, cache := range []string{"cache", "killed", "used"} {
		exit, err := t.json(t.shadercache(cache, "verify"), &struct{}{})
		if err != nil {
			return row{}, err
		}
		if exit != 0 {
			r.Failed += cache + " is damaged or has a quarantine "
		}
	}
	return r, nil
}
