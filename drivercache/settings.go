package drivercache

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// maxBytes is the size limit of the drivers' caches. It equals NVIDIA's default, but
// has to be set, since that driver prunes by other rules without an explicit size.
const maxBytes = 1 << 30

// State reports whether the driver's own cache of machine code is managed. A driver
// reads its settings when its library is loaded, so they can be set once in a
// process, before the first context.
//
//	driver  variable                             value
//	NVIDIA  __GL_SHADER_DISK_CACHE               1
//	NVIDIA  __GL_SHADER_DISK_CACHE_PATH          <dir>/nvidia
//	NVIDIA  __GL_SHADER_DISK_CACHE_SIZE          bytes
//	NVIDIA  __GL_SHADER_DISK_CACHE_SKIP_CLEANUP  1: without it the driver stops adding
//	NVIDIA  __GL_SHADER_DISK_CACHE_APP_NAME      shadercache: without it every executable starts cold;
//	                                             with a number for each further process: see nvidia.AppOf
//	Mesa    MESA_SHADER_CACHE_DIR                <dir>/mesa
//	Mesa    MESA_SHADER_CACHE_MAX_SIZE           like 1G
//	Mesa    MESA_DISK_CACHE_MULTI_FILE           1: one file an item, which can be copied and
//	                                             deleted alone; Mesa from 23 on has a database
//	Mesa    MESA_GLSL_CACHE_DIR                  as above, for Mesa before 22.3
//	Mesa    MESA_GLSL_CACHE_MAX_SIZE             as above, for Mesa before 22.3
//
// A variable that is already set is not changed.
type State struct {
	Managed bool   // the driver's cache is Dir
	Dir     string // the directory that holds the driver's cache
	Reason  string // why it is not managed, or which variables the user had set
	Off     bool   // the caller left it as it is: programs may be kept in another directory
	Full    bool   // it is not managed because the volume is full: machine code stays in memory
}

func (s State) String() string {
	switch {
	case s.Managed && s.Reason != "":
		return "managed in " + s.Dir + " (" + s.Reason + ")"
	case s.Managed:
		return "managed in " + s.Dir
	}
	return "not managed: " + s.Reason
}

// IsIn reports whether the driver's cache is in dir, by whatever path.
func (s State) IsIn(dir string) bool {
	if filepath.Clean(s.Dir) == filepath.Clean(dir) {
		return true
	}
	first, err := os.Stat(s.Dir)
	if err != nil {
		return false
	}
	second, err := os.Stat(dir)
	return err == nil && os.SameFile(first, second)
}

// process is the state of this process, whose environment can be set only once.
var process struct {
	sync.Mutex
	state *State // nil before the first Manage that reached the environment
	lock  *Lock  // shared, held until the process ends: drivers write at any time

	number  int           // of this process among those that use the directory
	fills   bool          // its slot is filled from those of others
	filled  chan struct{} // closed when that was done the first time
	fillErr error         // of it
	stale   bool          // it has to be done again before the first program

	programs atomic.Bool // see FirstProgram
}

// Manage makes dir the directory of the driver's own cache, if no driver is loaded
// yet, and creates dir. A program that makes its own context calls it before that. The
// directory of a shadercache cache is binary.Dir.DriverDir.
//
// It may be called from any goroutine, and repeatedly. The state has the reason where
// the cache cannot be managed.
func Manage(dir string) State {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return State{Reason: err.Error()}
	}
	process.Lock()
	defer process.Unlock()
	if s := process.state; s != nil {
		if s.Managed && s.Dir != dir {
			return State{Dir: s.Dir, Reason: "this process set it to " + s.Dir + " before"}
		}
		return *s
	}
	if library := loadedDriver(); library != "" {
		return State{Reason: library + " was loaded before the driver cache was managed"}
	}
	state := setUp(dir)
	process.state = &state
	return state
}

// Managed returns the result of the [Manage] call that set the directory, and false if
// there is none.
func Managed() (State, bool) {
	process.Lock()
	defer process.Unlock()
	if s := process.state; s != nil && s.Managed {
		return *s, true
	}
	return State{}, false
}

// HoldAcrossExec makes the shared lock on the managed directory survive exec of this
// process: it is held until the new program and the processes that it starts have ended.
// Processes that this one starts before exec inherit it as well. After an error the lock ends at
// exec, and a merge by another process may lose what the new program adds to the driver's cache.
// It returns errors.ErrUnsupported, wrapped, on systems without such locks.
func HoldAcrossExec() error {
	process.Lock()
	defer process.Unlock()
	if process.lock == nil {
		return errors.New("drivercache: hold across exec: this process holds no directory")
	}
	if err := osfile.KeepAcrossExec(process.lock.file); err != nil {
		return fmt.Errorf("drivercache: hold %s across exec: %w", process.lock.folder, err)
	}
	return nil
}

// inheritedDir is the variable with the directory that a parent process has set with
// this package. Settings that result from it are not the user's.
const inheritedDir = "SHADERCACHE_DRIVER_DIR"

// Variable is a variable of the environment.
type Variable struct{ Name, Value string }

// variables returns the settings that make every driver use dir, of process 0; none for "".
func variables(dir string) []Variable {
	if dir == "" {
		return nil
	}
	slots, files := filepath.Join(dir, nvidia.Folder), filepath.Join(dir, mesa.Folder)
	return []Variable{
		{"__GL_SHADER_DISK_CACHE", "1"},
		{slotsPath, slots},
		{"__GL_SHADER_DISK_CACHE_SIZE", strconv.Itoa(maxBytes)},
		{"__GL_SHADER_DISK_CACHE_SKIP_CLEANUP", "1"},
		{AppName, nvidia.App},
		{"MESA_SHADER_CACHE_DIR", files},
		{"MESA_SHADER_CACHE_MAX_SIZE", fmt.Sprintf("%dG", maxBytes>>30)},
		{"MESA_DISK_CACHE_MULTI_FILE", "1"},
		{"MESA_GLSL_CACHE_DIR", files},
		{"MESA_GLSL_CACHE_MAX_SIZE", fmt.Sprintf("%dG", maxBytes>>30)},
	}
}

// setUp makes every driver use dir, and takes the shared lock on it. Where the volume of
// dir is full, drivers keep their machine code in memory, until a later process finds
// space.
func setUp(dir string) State {
	setAsideIfRequested(dir)
	err := makeFolders(dir)
	if err == nil {
		err = reserveRoom(dir)
	}
	switch {
	case osfile.IsNoSpace(err):
		setVariables(noDirectory)
		return State{Reason: err.Error(), Full: true}
	case err != nil:
		return State{Reason: err.Error()}
	}
	alone := shareProcess(dir)
	kept := setVariables(dir)
	startFilling(dir, alone)
	state := State{Managed: true, Dir: dir}
	if len(kept) > 0 {
		state.Reason = userSettings + strings.Join(kept, ", ")
	}
	return state
}

// Folders returns the folders of all drivers that Fill knows.
func Folders() []string { return []string{nvidia.Folder, mesa.Folder} }

func makeFolders(dir string) error {
	for _, d := range Folders() {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Settings returns the variables that make every driver use dir, in an environment that
// lookup reads, and as kept those, as NAME=VALUE, that the user has set there to another
// value, and which stay. Variables that have their value already are in neither. They are
// for a process that holds no lock on dir; [Manage] chooses a slot for this one.
func Settings(dir string, lookup func(name string) (value string, set bool)) (settings []Variable, kept []string) {
	inherited := map[string]string{}
	parent, _ := lookup(inheritedDir)
	for _, v := range variables(parent) {
		inherited[v.Name] = v.Value
	}
	for _, v := range append(variables(dir), Variable{inheritedDir, dir}) {
		value, set := lookup(v.Name)
		switch {
		case !set, v.Name == inheritedDir, value == inherited[v.Name], v.Name == AppName && parent != "" && isSlotName(value):
			settings = append(settings, v)
		case value != v.Value:
			kept = append(kept, v.Name+"="+value)
		}
	}
	return settings, kept
}

// setVariables sets the variables for dir and returns those, as NAME=VALUE, that the user
// had set to another value.
func setVariables(dir string) (kept []string) {
	settings, kept := Settings(dir, os.LookupEnv)
	for _, v := range settings {
		if v.Name == AppName {
			v.Value = nvidia.AppOf(process.number)
		}
		if err := os.Setenv(v.Name, v.Value); err != nil {
			kept = append(kept, v.Name+"="+os.Getenv(v.Name))
		}
	}
	return kept
}

// shareProcess merges the slots of earlier processes, of which this driver would read
// one only, and takes the shared lock and a number. It reports whether no other process
// used dir, and all is in slot 0. After an error of either, the driver may compile more than necessary.
func shareProcess(dir string) (alone bool) {
	if lock, err := TryExclusive(dir); err == nil {
		_, err = mergeLocked(dir)
		alone = err == nil
		_ = lock.Release()
	}
	process.number, process.fills = 0, false
	if process.lock, _ = Share(dir); process.lock != nil {
		first := 0
		if !alone && hasDropList(dir) {
			first = 1 // slot 0 has what is to be deleted
		}
		process.number, process.fills = process.lock.takeNumber(first)
	}
	return alone
}

// driverLibraries has parts of the names of libraries that read the settings when they
// are loaded.
var driverLibraries = []string{
	"libnvidia-eglcore", "libnvidia-glcore", "libGLX_nvidia", "libEGL_nvidia",
	"libEGL_mesa", "libGLX_mesa", "libgallium", "swrast_dri", "_dri.so",
}

// loadedDriver returns the name of the first driver library in this process, or "".
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
		if slices.ContainsFunc(driverLibraries, func(library string) bool { return strings.Contains(name, library) }) {
			return name
		}
	}
	return ""
}
