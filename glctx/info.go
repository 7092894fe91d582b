package glctx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx/internal/gl45"
)

// Info is the identity and the limits of a driver, read once when the context is opened.
type Info struct {
	Fingerprint binary.Fingerprint
	GPU         string // GL_RENDERER
	Driver      string // vendor and GL_VERSION, which carries the driver build
	Major       int
	Minor       int

	MaxGroups      [3]int32 // work groups in a dispatch, each axis
	MaxGroupSize   [3]int32 // invocations in a work group, each axis
	MaxInvocations int32    // invocations in a work group, all axes
	MaxSharedBytes int      // shared memory of a work group
	MaxStorage     int64    // bytes of one shader storage block
	MaxBindings    int      // shader storage bindings

	StorageAlignment int // of offsets into a storage buffer, bytes
	UniformAlignment int // of offsets into a uniform buffer, bytes

	ParallelCompile bool // GL_KHR_parallel_shader_compile: the driver compiles on its own threads
	ResetNotice     bool // a reset of the GPU is reported
	extensions      map[string]bool
}

// Software reports whether the driver runs kernels on the CPU: llvmpipe or softpipe.
func (i Info) Software() bool {
	return strings.HasPrefix(i.GPU, "llvmpipe") || strings.HasPrefix(i.GPU, "softpipe")
}

// Has reports whether the driver has a GL extension.
func (i Info) Has(extension string) bool { return i.extensions[extension] }

// PinnedMemory reports whether [GL.NewPinned] works.
func (i Info) PinnedMemory() bool { return i.Has("GL_AMD_pinned_memory") }

// requireVersion returns an error where no context is current, or one that cannot be
// used.
func (gl *GL) requireVersion() error {
	if !isCurrent() {
		return fmt.Errorf("%w: no context is current on this thread", ErrNoDriver)
	}
	version := gl.text(gl45.VERSION)
	if strings.HasPrefix(version, "OpenGL ES") {
		return fmt.Errorf("%w: it is %q; request a desktop context of 4.5 or newer, core profile: "+
			"in EGL eglBindAPI(EGL_OPENGL_API) before eglCreateContext, in GLFW CLIENT_API = OPENGL_API", ErrNotDesktop, version)
	}
	major, minor := gl.integer(gl45.MAJOR_VERSION), gl.integer(gl45.MINOR_VERSION)
	if major > 4 || major == 4 && minor >= 5 {
		return nil
	}
	hint := updateDriver
	if gl.c.schedule != nil {
		hint = "request 4.5 core when the context is made; where that fails, " + updateDriver
	}
	return fmt.Errorf("%w: %s has %d.%d; OpenGL 4.5 core is needed: %s", ErrTooOld, gl.text(gl45.RENDERER), major, minor, hint)
}

// updateDriver is the hint for drivers that are too old.
const updateDriver = "update the GPU's driver, or Mesa to 20.2 or newer"

func (gl *GL) readInfo() Info {
	info := Info{
		GPU:              gl.text(gl45.RENDERER),
		Driver:           gl.text(gl45.VENDOR) + " " + gl.text(gl45.VERSION),
		Major:            int(gl.integer(gl45.MAJOR_VERSION)),
		Minor:            int(gl.integer(gl45.MINOR_VERSION)),
		MaxInvocations:   gl.integer(gl45.MAX_COMPUTE_WORK_GROUP_INVOCATIONS),
		MaxSharedBytes:   int(gl.integer(gl45.MAX_COMPUTE_SHARED_MEMORY_SIZE)),
		MaxBindings:      int(gl.integer(gl45.MAX_SHADER_STORAGE_BUFFER_BINDINGS)),
		StorageAlignment: int(gl.integer(gl45.SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT)),
		UniformAlignment: int(gl.integer(gl45.UNIFORM_BUFFER_OFFSET_ALIGNMENT)),
		extensions:       map[string]bool{},
	}
	gl45.GetInteger64v(gl45.MAX_SHADER_STORAGE_BLOCK_SIZE, &info.MaxStorage)
	for axis := range uint32(3) {
		gl45.GetIntegeri_v(gl45.MAX_COMPUTE_WORK_GROUP_COUNT, axis, &info.MaxGroups[axis])
		gl45.GetIntegeri_v(gl45.MAX_COMPUTE_WORK_GROUP_SIZE, axis, &info.MaxGroupSize[axis])
	}
	for i := range listLength(gl.integer(gl45.NUM_EXTENSIONS)) {
		info.extensions[gl45.GoStr(gl45.GetStringi(gl45.EXTENSIONS, i))] = true
	}
	info.ParallelCompile = info.Has("GL_KHR_parallel_shader_compile") || info.Has("GL_ARB_parallel_shader_compile")
	info.ResetNotice = gl.integer(gl45.RESET_NOTIFICATION_STRATEGY) == gl45.LOSE_CONTEXT_ON_RESET
	info.Fingerprint = gl.fingerprint(info)
	return info
}

func (gl *GL) fingerprint(info Info) binary.Fingerprint {
	f := binary.Fingerprint{
		Vendor:      gl.text(gl45.VENDOR),
		Renderer:    gl.text(gl45.RENDERER),
		Version:     gl.text(gl45.VERSION),
		GLSL:        gl.text(gl45.SHADING_LANGUAGE_VERSION),
		Profile:     uint32(gl.integer(gl45.CONTEXT_PROFILE_MASK)),
		Flags:       uint32(gl.integer(gl45.CONTEXT_FLAGS)),
		PointerBits: 32 << (^uintptr(0) >> 63),
	}
	if info.Has("GL_EXT_memory_object") {
		f.DriverUUID = driverUUID()
	}
	if n := listLength(gl.integer(gl45.NUM_PROGRAM_BINARY_FORMATS)); n > 0 {
		formats := make([]int32, n)
		gl45.GetIntegerv(gl45.PROGRAM_BINARY_FORMATS, &formats[0])
		for _, v := range formats {
			f.Formats = append(f.Formats, uint32(v))
		}
		slices.Sort(f.Formats)
	}
	return f
}

// longestList is more than any driver's list has.
const longestList = 1 << 16

// listLength returns the length of a list of the driver's, or 0 for one that cannot be.
func listLength(n int32) uint32 {
	if n < 0 || n > longestList {
		return 0
	}
	return uint32(n)
}

func (gl *GL) integer(name uint32) int32 {
	var v int32
	gl45.GetIntegerv(name, &v)
	return v
}

// text returns a string of the driver, made printable.
func (gl *GL) text(name uint32) string { return printable(gl45.GoStr(gl45.GetString(name))) }
