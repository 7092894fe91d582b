package glctx

import (
	"slices"
	"strings"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx/internal/gl45"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
)

// Info is the identity and the limits of a driver, read once when the context is opened.
type Info struct {
	Fingerprint binary.Fingerprint
	GPU         string // GL_RENDERER
	Driver      string // vendor and GL_VERSION, which carries the driver build
	API         API
	Major       int
	Minor       int

	job.Limits // of jobs

	MaxGroupSize   [3]int32 // invocations in a work group, each axis
	MaxInvocations int32    // invocations in a work group, all axes
	MaxSharedBytes int      // shared memory of a work group
	MaxBindings    int      // shader storage bindings

	Textures texel.Limits

	VariableGroups bool // GL_ARB_compute_variable_group_size

	ParallelCompile bool // GL_KHR_parallel_shader_compile: the driver compiles on its own threads
	ResetNotice     bool // a reset of the GPU is reported
	extensions      map[string]bool
}

// Software reports whether the driver runs kernels on the CPU: llvmpipe, softpipe, or zink
// over llvmpipe's driver of Vulkan.
func (i Info) Software() bool {
	return strings.HasPrefix(i.GPU, "llvmpipe") || strings.HasPrefix(i.GPU, "softpipe") ||
		i.isZink() && strings.Contains(i.GPU, "llvmpipe")
}

// isZink reports whether the driver is Mesa's GL on a driver of Vulkan, which its name has too.
func (i Info) isZink() bool { return strings.HasPrefix(i.GPU, "zink ") }

// Has reports whether the driver has a GL extension.
func (i Info) Has(extension string) bool { return i.extensions[extension] }

// PinnedMemory reports whether [GL.NewPinned] works.
func (i Info) PinnedMemory() bool { return i.Has("GL_AMD_pinned_memory") }

func (gl *GL) readInfo() Info {
	api, version := gl.parseVersion()
	info := Info{
		GPU:            gl.text(gl45.RENDERER),
		Driver:         gl.text(gl45.VENDOR) + " " + gl.text(gl45.VERSION),
		API:            api,
		Major:          version[0],
		Minor:          version[1],
		MaxInvocations: gl.integer(gl45.MAX_COMPUTE_WORK_GROUP_INVOCATIONS),
		MaxSharedBytes: int(gl.integer(gl45.MAX_COMPUTE_SHARED_MEMORY_SIZE)),
		MaxBindings:    int(gl.integer(gl45.MAX_SHADER_STORAGE_BUFFER_BINDINGS)),
		Textures:       gl.readTextureLimits(),
		Limits: job.Limits{
			MaxUniform:       int64(gl.integer(gl45.MAX_UNIFORM_BLOCK_SIZE)),
			MaxCounters:      int64(gl.integer(gl45.MAX_ATOMIC_COUNTER_BUFFER_SIZE)),
			StorageAlignment: int(gl.integer(gl45.SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT)),
			UniformAlignment: int(gl.integer(gl45.UNIFORM_BUFFER_OFFSET_ALIGNMENT)),
		},
		extensions: map[string]bool{},
	}
	gl45.GetInteger64v(gl45.MAX_SHADER_STORAGE_BLOCK_SIZE, &info.MaxStorage)
	for axis := range uint32(3) {
		gl45.GetIntegeri_v(gl45.MAX_COMPUTE_WORK_GROUP_COUNT, axis, &info.MaxGroups[axis])
		gl45.GetIntegeri_v(gl45.MAX_COMPUTE_WORK_GROUP_SIZE, axis, &info.MaxGroupSize[axis])
	}
	for i := range listLength(gl.integer(gl45.NUM_EXTENSIONS)) {
		info.extensions[gl45.GoStr(gl45.GetStringi(gl45.EXTENSIONS, i))] = true
	}
	if info.VariableGroups = info.Has("GL_ARB_compute_variable_group_size"); info.VariableGroups {
		info.MaxVariableInvocations = gl.integer(gl45.MAX_COMPUTE_VARIABLE_GROUP_INVOCATIONS_ARB)
		for axis := range uint32(3) {
			gl45.GetIntegeri_v(gl45.MAX_COMPUTE_VARIABLE_GROUP_SIZE_ARB, axis, &info.MaxVariableSize[axis])
		}
	}
	info.ParallelCompile = info.Has("GL_KHR_parallel_shader_compile") || info.Has("GL_ARB_parallel_shader_compile")
	gl.c.resetStatus = info.resetStatus()
	info.ResetNotice = gl.c.resetStatus != nil && gl.integer(gl45.RESET_NOTIFICATION_STRATEGY) == gl45.LOSE_CONTEXT_ON_RESET
	info.Fingerprint = gl.fingerprint(info)
	return info
}

// is reports whether the context is desktop OpenGL, or OpenGL ES, of a version or newer.
func (i Info) is(api API, major, minor int) bool {
	return i.API == api && atLeast([2]int{i.Major, i.Minor}, major, minor)
}

// hasCompute reports whether the context has compute shaders: one of a replay may not.
func (i Info) hasCompute() bool {
	return atLeast([2]int{i.Major, i.Minor}, lowest[i.API][0], lowest[i.API][1])
}

// resetStatus returns the call for the reset status by its name in this context, or nil
// where there is none.
func (i Info) resetStatus() func() uint32 {
	switch {
	case i.is(OpenGL, 4, 5), i.is(OpenGLES, 3, 2), i.API == OpenGL && i.Has("GL_KHR_robustness"):
		return gl45.GetGraphicsResetStatus
	case i.Has("GL_KHR_robustness"):
		return gl45.GetGraphicsResetStatusKHR
	case i.API == OpenGL && i.Has("GL_ARB_robustness"):
		return gl45.GetGraphicsResetStatusARB
	}
	return nil
}

func (gl *GL) fingerprint(info Info) binary.Fingerprint {
	f := binary.Fingerprint{
		Vendor:      gl.text(gl45.VENDOR),
		Renderer:    rendererID(info.GPU),
		Version:     gl.text(gl45.VERSION),
		GLSL:        gl.text(gl45.SHADING_LANGUAGE_VERSION),
		PointerBits: 32 << (^uintptr(0) >> 63),
	}
	if info.API == OpenGL {
		f.Profile = uint32(gl.integer(gl45.CONTEXT_PROFILE_MASK))
	}
	if info.API == OpenGL || info.is(OpenGLES, 3, 2) {
		f.Flags = uint32(gl.integer(gl45.CONTEXT_FLAGS))
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

// driverUUID returns the driver's UUID, or "" where there is none or reading it fails:
// Mesa lists the extension in contexts of OpenGL ES 3.1, and has the call in 3.2 only.
func (gl *GL) driverUUID() string {
	if !gl.c.info.Has("GL_EXT_memory_object") {
		return ""
	}
	uuid := driverUUID()
	if gl.Err() != nil {
		return ""
	}
	return uuid
}

func (gl *GL) integer(name uint32) int32 {
	var v int32
	gl45.GetIntegerv(name, &v)
	return v
}

// text returns a string of the driver, made printable.
func (gl *GL) text(name uint32) string { return printable(gl45.GoStr(gl45.GetString(name))) }
