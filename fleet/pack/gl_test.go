//go:build linux && egl

package pack

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

const doubler = `
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Values { float value[]; };
void main() { value[gl_GlobalInvocationID.x] *= FACTOR; }
`

// factorsEnvironment has the factors of a child's programs.
const factorsEnvironment = "BUNDLE_TEST_FACTORS"

// usersEnvironment has the directory where a child's user keeps the driver's cache.
const usersEnvironment = "BUNDLE_TEST_USERS_DIR"

// glOutcome is the result of a child process with a GL context.
type glOutcome struct {
	Compiles, Loads uint64
	Fingerprint     binary.Fingerprint
	Wrong           int
}

func init() {
	gltest.IsolateEnvironment()
	// Gets a program of each factor, runs it, and writes the outcome to file.
	children["gl"] = func(dir, file string) error {
		if users := os.Getenv(usersEnvironment); users != "" {
			os.Setenv("MESA_SHADER_CACHE_DIR", users)
			os.Setenv("__GL_SHADER_DISK_CACHE_PATH", users)
		}
		c, err := glctx.Open(glctx.Options{CacheDir: dir})
		if err != nil {
			return err
		}
		programs, err := cache.New(c, cache.Options{Dir: dir})
		if err != nil {
			return err
		}
		var o glOutcome
		for _, factor := range strings.Fields(os.Getenv(factorsEnvironment)) {
			wrong, err := double(c, programs, factor)
			if err != nil {
				return err
			}
			o.Wrong += wrong
		}
		if err := programs.Close(); err != nil {
			return err
		}
		n := c.Counters()
		o.Compiles, o.Loads, o.Fingerprint = n.Compiles, n.BinaryLoads, c.Info().Fingerprint
		if err := c.Close(); err != nil {
			return err
		}
		data, err := json.Marshal(o)
		if err != nil {
			return err
		}
		return os.WriteFile(file, data, 0o600)
	}
}

// double runs one program and counts the results that are wrong.
func double(c *glctx.Context, programs *cache.Cache, factor string) (wrong int, err error) {
	h, err := programs.Get(context.Background(), shader.MustSource("doubler", doubler, shader.Defines{"FACTOR": factor}))
	if err != nil {
		return 0, err
	}
	defer h.Release()
	scale, err := strconv.ParseFloat(factor, 32)
	if err != nil {
		return 0, err
	}
	values := slices.Repeat([]float32{7}, 8)
	err = c.Do(func(gl *glctx.GL) error {
		b, err := gl.NewBuffer(4*len(values), glctx.Bytes(values))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.BindStorage(0, b)
		gl.UseProgram(h.Program())
		gl.Dispatch(1, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(b, 0, glctx.Bytes(values))
		return gl.Err()
	})
	for _, v := range values {
		if v != 7*float32(scale) {
			wrong++
		}
	}
	return wrong, err
}

func runGL(t *testing.T, d *binary.Dir, factors string, environment ...string) glOutcome {
	t.Helper()
	file := filepath.Join(t.TempDir(), "outcome")
	child := exec.Command(os.Args[0])
	child.Env = append(append(childEnv("gl", d.Path(), file), factorsEnvironment+"="+factors), environment...)
	var o glOutcome
	out, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
		return o
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		t.Error(err)
	}
	if o.Wrong != 0 {
		t.Errorf("%d results are wrong", o.Wrong)
	}
	return o
}

// driverFiles returns the names of the driver's files and the size of NVIDIA's slots:
// Mesa adds files, NVIDIA's driver grows them.
func driverFiles(t *testing.T, d *binary.Dir) (names []string, slots int) {
	t.Helper()
	for name, data := range tree(t, d.Path()) {
		if strings.HasPrefix(name, "driver/") {
			names = append(names, name)
		}
		if strings.HasPrefix(name, nvidiaFolder) {
			slots += len(data)
		}
	}
	slices.Sort(names)
	return names, slots
}

// TestImportedCacheIsWarm imports a bundle into a new directory: the first process
// there compiles nothing, and neither does its driver.
func TestImportedCacheIsWarm(t *testing.T) {
	gltest.Open(t) // skips or fails without a driver
	old, fresh := openDir(t), openDir(t)
	first := runGL(t, old, "2.0 3.0")
	if first.Compiles != 2 || first.Loads != 0 {
		t.Fatalf("the first process: %+v", first)
	}
	var b bytes.Buffer
	out, err := Export(&b, old, ExportOptions{})
	must(t, err)
	in, err := Import(&b, fresh, ImportOptions{Trust: true, Drivers: []binary.Fingerprint{first.Fingerprint}})
	must(t, err)
	if in.Programs != 2 || in.DriverFiles == 0 || in.DriverFiles != out.DriverFiles || len(out.LeftOut) != 0 {
		t.Fatalf("exported %+v, imported %+v", out, in)
	}
	names, slots := driverFiles(t, fresh)
	if second := runGL(t, fresh, "2.0 3.0"); second.Compiles != 0 || second.Loads != 2 {
		t.Errorf("the first process after the import: %+v", second)
	}
	if after, grown := driverFiles(t, fresh); !slices.Equal(after, names) || grown != slots {
		t.Errorf("the driver generated code: %q, before %q; slots of %d bytes, before %d", after, names, grown, slots)
	}
}

// TestDirectoryWithADatabaseBecomesWarm imports into a directory in which a process with
// other settings made Mesa use a database, as Mesa from 23 on does by default.
func TestDirectoryWithADatabaseBecomesWarm(t *testing.T) {
	if !gltest.Open(t).Info().Software() {
		t.Skip("only Mesa has databases")
	}
	for _, setting := range []string{"MESA_DISK_CACHE_MULTI_FILE=0", "MESA_DISK_CACHE_SINGLE_FILE=1"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			good, used := openDir(t), openDir(t)
			first := runGL(t, good, "2.0 3.0")
			runGL(t, used, "5.0", setting)
			before, _ := driverFiles(t, used)
			var b, again bytes.Buffer
			_, err := Export(&b, good, ExportOptions{})
			must(t, err)
			in, err := Import(&b, used, ImportOptions{Trust: true, Drivers: []binary.Fingerprint{first.Fingerprint}})
			must(t, err)
			if in.Programs != 2 || in.DriverFiles < 2 {
				t.Errorf("imported %+v", in)
			}
			imported, _ := driverFiles(t, used)
			if len(imported) != len(before)+in.DriverFiles {
				t.Errorf("%d files of the driver, before %d, imported %d", len(imported), len(before), in.DriverFiles)
			}
			if next := runGL(t, used, "2.0 3.0"); next.Compiles != 0 || next.Loads != 2 {
				t.Errorf("the first process after the import: %+v", next)
			}
			if after, _ := driverFiles(t, used); !slices.Equal(after, imported) {
				t.Errorf("the driver generated code: %q, before %q", after, imported)
			}
			out, err := Export(&again, used, ExportOptions{})
			if must(t, err); len(out.LeftOut) > 1 || out.DriverFiles < in.DriverFiles {
				t.Errorf("exported again: %+v", out)
			}
		})
	}
}

// TestParallelProcessesFillOneCache fills a cache from concurrent processes: the next
// process compiles nothing, whether or not the driver uses a slot for each.
func TestParallelProcessesFillOneCache(t *testing.T) {
	gltest.Open(t)
	d := openDir(t)
	factors := []string{"2.0 3.0", "4.0 5.0", "6.0 2.0"}
	var workers sync.WaitGroup
	for _, f := range factors {
		workers.Go(func() { runGL(t, d, f) })
	}
	workers.Wait()
	merge, err := drivercache.Merge(d.DriverDir())
	if err != nil || len(merge.Skipped) != 0 {
		t.Errorf("merged %+v, %v", merge, err)
	}
	t.Logf("merged %d slots with %d records", merge.Slots, merge.Records)
	names, slots := driverFiles(t, d)
	if next := runGL(t, d, strings.Join(factors, " ")); next.Compiles != 0 || next.Loads != 5 {
		t.Errorf("the next process: %+v", next)
	}
	if after, grown := driverFiles(t, d); !slices.Equal(after, names) || grown != slots {
		t.Errorf("the driver generated code: %q, before %q; slots of %d bytes, before %d", after, names, grown, slots)
	}
}
