//go:build linux && cgo

package glctx_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

const (
	endDir   = "GLCTX_TEST_END_DIR"
	endPlain = "GLCTX_TEST_END_PLAIN" // set: without a cache
)

// TestDriverEnd logs what the end of a process takes that loads 30 programs, warm, and of
// one that loads the same binaries without a cache: docs/drivers.md. Neither is a failure.
func TestDriverEnd(t *testing.T) {
	if dir := os.Getenv(endDir); dir != "" {
		endProcess(t, dir)
		return
	}
	if !testing.Verbose() {
		t.Skip("it only logs: go test -v")
	}
	dir, took := t.TempDir(), map[string][]time.Duration{}
	run := func(what string, environment ...string) {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestDriverEnd$", "-test.v")
		cmd.Env = append(os.Environ(), append(environment, endDir+"="+dir)...)
		out, err := cmd.CombinedOutput()
		ended := time.Now()
		wantNoError(t, err)
		_, text, _ := strings.Cut(string(out), "loaded at ")
		nanos, err := strconv.ParseInt(strings.Fields(text + " -")[0], 10, 64)
		wantNoError(t, err)
		took[what] = append(took[what], ended.Sub(time.Unix(0, nanos)))
		if what == "with the cache" {
			_, text, _ = strings.Cut(string(out), "cache closed in ")
			closed, err := time.ParseDuration(strings.Fields(text + " -")[0])
			wantNoError(t, err)
			took["of it the cache"] = append(took["of it the cache"], closed)
		}
	}
	run("cold")
	for range 15 {
		run("with the cache")
		run("without", endPlain+"=1", "MESA_SHADER_CACHE_DIR="+dir+"/driver/mesa", "MESA_DISK_CACHE_MULTI_FILE=1")
	}
	for what, all := range took {
		slices.Sort(all)
		t.Logf("%s: least %.1f ms, median %.1f, most %.1f", what, ms(all[0]), ms(all[len(all)/2]), ms(all[len(all)-1]))
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func endProcess(t *testing.T, dir string) {
	plain := os.Getenv(endPlain) != ""
	c, err := glctx.Open(glctx.Options{CacheDir: dir, DriverCacheOff: plain})
	wantNoError(t, err)
	var sources []*shader.Source
	for i := range 30 {
		sources = append(sources, shader.MustSource(fmt.Sprint("end ", i), doubler, shader.Defines{"FACTOR": fmt.Sprintf("%d.5", i)}))
	}
	if plain {
		d, err := binary.OpenDir(dir)
		wantNoError(t, err)
		store, err := d.Store(c.Fingerprint())
		wantNoError(t, err)
		for _, src := range sources {
			blob, err := store.Get(src.Key())
			wantNoError(t, err)
			_, err = c.Load(t.Context(), blob.Format, blob.Payload)
			wantNoError(t, err)
		}
		fmt.Println("loaded at", time.Now().UnixNano())
	} else {
		programs, err := cache.New(c, cache.Options{Dir: dir})
		wantNoError(t, err)
		results, err := programs.Preload(t.Context(), sources, nil)
		wantNoError(t, err)
		for _, r := range results {
			wantNoError(t, r.Err)
		}
		began := time.Now()
		fmt.Println("loaded at", began.UnixNano())
		wantNoError(t, programs.Close())
		fmt.Println("cache closed in", time.Since(began))
	}
	wantNoError(t, c.Close())
}
