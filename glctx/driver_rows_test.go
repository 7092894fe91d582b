//go:build linux && cgo

package glctx_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// rowsDir is the environment variable with the directory of a process of TestDriverRows.
const rowsDir = "GLCTX_TEST_ROWS_DIR"

// TestDriverRows logs the rows of the table of drivers in docs/drivers.md, for the driver
// that it runs on: scripts/drivers run DRIVER, docs/logs/drivers. None of them is a failure.
func TestDriverRows(t *testing.T) {
	if dir := os.Getenv(rowsDir); dir != "" {
		logRows(t, dir)
		return
	}
	if !testing.Verbose() {
		t.Skip("it only logs: go test -v")
	}
	dir := t.TempDir()
	rowsProcess(t, dir, "cold: ")
	rowsProcess(t, dir, "warm: ")
	if err := os.RemoveAll(filepath.Join(dir, "driver")); err != nil {
		t.Fatal(err)
	}
	rowsProcess(t, dir, "binaries alone: ")
	var together sync.WaitGroup
	began, cold := time.Now(), t.TempDir()
	for range 8 {
		together.Go(func() { rowsProcess(t, cold, "") })
	}
	together.Wait()
	t.Logf("8 processes at once, cold: %v", time.Since(began).Round(time.Millisecond))
}

// rowsProcess runs logRows in a process and logs its rows, and how long it took to end.
func rowsProcess(t *testing.T, dir, prefix string) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestDriverRows$", "-test.v")
	cmd.Env = append(os.Environ(), rowsDir+"="+dir)
	out, err := cmd.CombinedOutput()
	ended := time.Now()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, row := range regexp.MustCompile(`(?m)row: (.*)$`).FindAllStringSubmatch(string(out), -1) {
		var nanos int64
		if n, _ := fmt.Sscanf(row[1], "closed at %d", &nanos); n == 1 {
			row[1] = "end of the process: " + ended.Sub(time.Unix(0, nanos)).Round(100*time.Microsecond).String()
		}
		if prefix != "" {
			t.Log(prefix + row[1])
		}
	}
}

// logRows logs what the driver of this process does with slowToGenerate and others.
func logRows(t *testing.T, dir string) {
	row := func(format string, arguments ...any) { t.Logf("row: "+format, arguments...) }
	var kind glctx.Kind
	source := slowToGenerate()
	if os.Getenv("MESA_LOADER_DRIVER_OVERRIDE") == "nouveau" { // 4.3; for 4.5 EGL would open llvmpipe
		kind, source = glctx.Kind{Major: 4, Minor: 3}, shader.MustSource("slow", "#version 430 core\n"+slowText(), nil)
	}
	c, err := glctx.Open(glctx.Options{CacheDir: dir, Kind: kind})
	wantNoError(t, err)
	info := c.Info()
	row("%s; %s; %s; %d program binary formats; primed by %s", info.GPU, info.Driver, c.Kind(), len(info.Fingerprint.Formats), c.Priming())
	before, opened := cacheFiles(t, dir), threadNames()
	programs, err := cache.New(c, cache.Options{Dir: dir})
	wantNoError(t, err)
	results, err := programs.Preload(t.Context(), []*shader.Source{source}, nil)
	wantNoError(t, err)
	got := results[0]
	wantNoError(t, got.Err)
	handle, err := programs.Get(t.Context(), source)
	wantNoError(t, err)
	began := time.Now()
	waits := os.Getenv(gltest.NoResults) == "" || !strings.Contains(info.GPU, "Intel") // Intel's shims end no fence
	wantNoError(t, c.Do(func(gl *glctx.GL) error {
		b, err := gl.NewBuffer(32, make([]byte, 32))
		gl.UseProgram(handle.Program())
		gl.BindStorage(0, b)
		gl.Dispatch(1, 1, 1)
		if waits {
			gl.Finish()
		}
		gl.DeleteBuffer(b)
		return err
	}))
	row("%s: compile %s, load %s, prime %s; then the first dispatch %s", got.Origin,
		millis(got.CompileNanos), millis(got.LoadNanos), millis(got.PrimeNanos), millis(time.Since(began).Nanoseconds()))
	row("threads of the driver: %s, and from the first program on %s", opened, threadNames())
	logDamaged(t, c, handle.Program(), row)
	began = time.Now()
	c.SettleDriverCache()
	row("settling %s", millis(time.Since(began).Nanoseconds()))
	row("files of the driver's cache when the context is open: %q; at the end: %q", before, cacheFiles(t, dir))
	handle.Release()
	wantNoError(t, programs.Close())
	wantNoError(t, c.Close())
	row("closed at %d", time.Now().UnixNano())
}

func millis(nanos int64) string { return fmt.Sprintf("%.1f ms", float64(nanos)/1e6) }

// logDamaged logs what the driver says of a binary that was changed.
func logDamaged(t *testing.T, c *glctx.Context, program uint32, row func(string, ...any)) {
	format, binary, err := c.Binary(context.Background(), program)
	wantNoError(t, err)
	flipped := slices.Clone(binary)
	flipped[len(flipped)/2] ^= 1
	for name, payload := range map[string][]byte{"flipped in the middle": flipped, "truncated by a byte": binary[:len(binary)-1]} {
		p, err := c.Load(context.Background(), format, payload)
		if err == nil {
			c.Delete(p.ID)
		}
		row("a binary of %d bytes, %s: %v", len(binary), name, cmp.Or(err, errors.New("loaded")))
	}
}

// cacheFiles is driverFiles without folders, none where there is no cache yet.
func cacheFiles(t *testing.T, dir string) []string {
	if _, err := os.Stat(filepath.Join(dir, "driver")); err != nil {
		return nil
	}
	files := driverFiles(t, dir)
	for i, f := range files {
		files[i] = filepath.Base(f)[:min(12, len(filepath.Base(f)))]
	}
	return files
}

// threadNames returns the names of this process's threads that are not its own.
func threadNames() string {
	own, _ := os.ReadFile("/proc/self/comm")
	tasks, _ := filepath.Glob("/proc/self/task/*/comm")
	var names []string
	for _, task := range tasks {
		if name, _ := os.ReadFile(task); len(name) > 0 && string(name) != string(own) {
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}
