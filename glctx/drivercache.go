package glctx

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/binary/driverlock"
	"github.com/shadercache/shadercache/binary/nvslots"
)

// driverCacheBytes is the size that drivers may grow their cache to. NVIDIA's
// default of 1 GiB is kept; what matters is that it is set, since without an
// explicit size the driver prunes by rules of its own.
const driverCacheBytes = 1 << 30

// DriverCache says what became of the driver's own cache of machine code. A
// driver reads its settings when its library is loaded, so they can be made
// once per process, before the first context.
//
//	driver  variable                             value
//	NVIDIA  __GL_SHADER_DISK_CACHE               1
//	NVIDIA  __GL_SHADER_DISK_CACHE_PATH          <dir>/nvidia
//	NVIDIA  __GL_SHADER_DISK_CACHE_SIZE          bytes
//	NVIDIA  __GL_SHADER_DISK_CACHE_SKIP_CLEANUP  1: without it the driver stops adding
//	NVIDIA  __GL_SHADER_DISK_CACHE_APP_NAME      shadercache: without it every executable starts cold
//	Mesa    MESA_SHADER_CACHE_DIR                <dir>/mesa
//	Mesa    MESA_SHADER_CACHE_MAX_SIZE           like 1G
//	Mesa    MESA_GLSL_CACHE_DIR                  as above, for Mesa before 22.3
//	Mesa    MESA_GLSL_CACHE_MAX_SIZE             as above, for Mesa before 22.3
//
// A variable that is set already wins.
type DriverCache struct {
	Managed bool   // the driver's cache is Dir
	Dir     string // the driver/ folder of the cache directory
	Reason  string // why it is not managed, or which variables the user had set
}

func (d DriverCache) String() string {
	switch {
	case d.Managed && d.Reason != "":
		return "managed in " + d.Dir + " (" + d.Reason + ")"
	case d.Managed:
		return "managed in " + d.Dir
	}
	return "not managed: " + d.Reason
}

// DriverCache says whether the driver's own cache is managed, and if not, why.
func (c *Context) DriverCache() DriverCache { return c.driver }

// DriverCacheState is DriverCache in words.
func (c *Context) DriverCacheState() string { return c.driver.String() }

// driverCache remembers what this process did: the environment can be changed
// only once with effect.
var driverCache struct {
	sync.Mutex
	state *DriverCache
}

// ManageDriverCache points the driver's own cache at the cache directory, if no
// driver was loaded yet. Open calls it; who makes a context by other means
// calls it before that, and Adopt afterwards. It may be called from any
// goroutine and never fails: the answer says what happened.
func ManageDriverCache(o Options) DriverCache {
	driverCache.Lock()
	defer driverCache.Unlock()
	if o.DriverCacheOff {
		if driverCache.state != nil && driverCache.state.Managed {
			return *driverCache.state
		}
		return DriverCache{Reason: "turned off"}
	}
	dir, err := driverDir(o.CacheDir)
	if err != nil {
		return DriverCache{Reason: err.Error()}
	}
	if s := driverCache.state; s != nil {
		if s.Managed && s.Dir != dir {
			return DriverCache{Dir: s.Dir, Reason: "this process set it to " + s.Dir + " before"}
		}
		return *s
	}
	if library := loadedDriver(); library != "" {
		return DriverCache{Reason: library + " was loaded before the first context of ours"}
	}
	state := setDriverCache(dir)
	driverCache.state = &state
	return state
}

func driverDir(cacheDir string) (string, error) {
	if cacheDir == "" {
		var err error
		if cacheDir, err = binary.DefaultDir(); err != nil {
			return "", err
		}
	}
	dir, err := binary.OpenDir(cacheDir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir.DriverDir())
}

// inheritedDir tells a child process which settings came from a parent that
// used this package, and so are not the user's wish.
const inheritedDir = "SHADERCACHE_DRIVER_DIR"

type variable struct{ name, value string }

// driverVariables are the settings that point every driver at dir; none for "".
func driverVariables(dir string) []variable {
	if dir == "" {
		return nil
	}
	nvidia, mesa := filepath.Join(dir, "nvidia"), filepath.Join(dir, "mesa")
	return []variable{
		{"__GL_SHADER_DISK_CACHE", "1"},
		{"__GL_SHADER_DISK_CACHE_PATH", nvidia},
		{"__GL_SHADER_DISK_CACHE_SIZE", strconv.Itoa(driverCacheBytes)},
		{"__GL_SHADER_DISK_CACHE_SKIP_CLEANUP", "1"},
		{"__GL_SHADER_DISK_CACHE_APP_NAME", "shadercache"},
		{"MESA_SHADER_CACHE_DIR", mesa},
		{"MESA_SHADER_CACHE_MAX_SIZE", fmt.Sprintf("%dG", driverCacheBytes>>30)},
		{"MESA_GLSL_CACHE_DIR", mesa},
		{"MESA_GLSL_CACHE_MAX_SIZE", fmt.Sprintf("%dG", driverCacheBytes>>30)},
	}
}

func setDriverCache(dir string) DriverCache {
	for _, d := range []string{"nvidia", "mesa"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return DriverCache{Reason: err.Error()}
		}
	}
	inherited := map[string]string{}
	for _, v := range driverVariables(os.Getenv(inheritedDir)) {
		inherited[v.name] = v.value
	}
	var kept []string
	for _, v := range append(driverVariables(dir), variable{inheritedDir, dir}) {
		value, set := os.LookupEnv(v.name)
		if set && v.name != inheritedDir && value != inherited[v.name] {
			if value != v.value {
				kept = append(kept, v.name+"="+value)
			}
			continue
		}
		if err := os.Setenv(v.name, v.value); err != nil {
			return DriverCache{Reason: err.Error()}
		}
	}
	shareDriverCache(dir)
	state := DriverCache{Managed: true, Dir: dir}
	if len(kept) > 0 {
		state.Reason = "set by the user: " + strings.Join(kept, ", ")
	}
	return state
}

// sharedDriverCache is held until the process ends: a driver writes its cache
// whenever it likes.
var sharedDriverCache *driverlock.Lock

// shareDriverCache merges what earlier processes left side by side, which this
// driver would not find otherwise, and keeps others from merging while we use
// the directory. Where either is not possible, the driver compiles more than it
// had to; that is no reason not to start.
func shareDriverCache(dir string) {
	_, _ = nvslots.Merge(dir)
	sharedDriverCache, _ = driverlock.Share(dir)
}

// driverLibraries are parts of the names of libraries that read the settings
// when they are loaded.
var driverLibraries = []string{
	"libnvidia-eglcore", "libnvidia-glcore", "libGLX_nvidia", "libEGL_nvidia",
	"libEGL_mesa", "libGLX_mesa", "libgallium", "swrast_dri", "_dri.so",
}

// loadedDriver names the first driver library in this process, or "".
func loadedDriver() string {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return ""
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		_, path, found := strings.Cut(lines.Text(), "/")
		if !found {
			continue
		}
		name := filepath.Base(path)
		for _, library := range driverLibraries {
			if strings.Contains(name, library) {
				return name
			}
		}
	}
	return ""
}
