package glctx

import (
	"strings"

	"github.com/shadercache/shadercache/binary"
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

	MaxInvocations int32 // invocations in a work group, all axes
	MaxSharedBytes int   // shared memory of a work group
	MaxBindings    int   // shader storage bindings

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

// is reports whether the context is desktop OpenGL, or OpenGL ES, of a version or newer.
func (i Info) is(api API, major, minor int) bool {
	return i.API == api && atLeast([2]int{i.Major, i.Minor}, major, minor)
}

// hasCompute reports whether the context has compute shaders: one of a replay may not.
func (i Info) hasCompute() bool {
	return atLeast([2]int{i.Major, i.Minor}, lowest[i.API][0], lowest[i.API][1])
}
