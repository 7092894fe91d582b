//go:build linux && cgo

package glctx

import (
	"fmt"
	"slices"
	"strings"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/trace"
)

// setUp loads the bindings, reads Info and prepares priming. The context is current.
func (c *Context) setUp() error {
	slot := c.options.begin(trace.Slot)
	if err := drivercache.Reserve(); err != nil {
		c.logger.Warn("the driver's own cache may lose what is compiled, or is not found", "error", err)
	}
	slot.End()
	bindings := c.options.begin(trace.Bindings)
	err := loadBindings()
	bindings.End()
	if err != nil {
		return err
	}
	describe := c.options.begin(trace.Describe)
	defer func() { describe.End() }()
	c.gl = &GL{c: c}
	if err := c.gl.requireVersion(); err != nil {
		return err
	}
	_ = c.gl.Err() // of calls of the context's owner
	c.info = c.gl.readInfo()
	c.gl.startDebugOutput()
	c.driver = c.driver.Effective(c.info.Fingerprint.Vendor, c.info.Fingerprint.Version)
	if err := c.gl.Err(); err != nil && c.info.hasCompute() {
		return fmt.Errorf("reading the driver's limits: %w", err)
	}
	c.info.Fingerprint.DriverUUID = c.gl.driverUUID()
	c.info.Fingerprint.DriverBuild = driverBuild(c.info.Fingerprint)
	if !c.info.hasCompute() {
		return nil
	}
	c.priming = c.info.priming()
	return c.gl.preparePriming()
}

// tearDown frees what setUp made.
func (c *Context) tearDown() {
	if c.gone.Load() {
		return
	}
	gl45.DeleteBuffers(1, &c.gl.zeros.ID) // of priming
	c.gl.stopDebugOutput()
}

// parseVersion returns the API and the version of a GL_VERSION.
func (gl *GL) parseVersion() (api API, version [2]int) {
	if strings.HasPrefix(gl.text(gl45.VERSION), "OpenGL ES") {
		api = OpenGLES
	}
	return api, [2]int{int(gl.integer(gl45.MAJOR_VERSION)), int(gl.integer(gl45.MINOR_VERSION))}
}

// requireVersion returns an error where no context is current, or one that cannot be
// used.
func (gl *GL) requireVersion() error {
	if !isCurrent() {
		return fmt.Errorf("%w: no context is current on this thread", ErrNoDriver)
	}
	api, have := gl.parseVersion()
	least := gl.c.options.lowest(api)
	want := least
	if gl.c.schedule == nil { // else it is the owner's choice
		want[0], want[1] = gl.c.options.Kind.Version()
		if !atLeast(want, least[0], least[1]) {
			want = least
		}
	}
	if !atLeast(have, want[0], want[1]) {
		hint := updateDriver
		if gl.c.schedule != nil {
			hint = fmt.Sprintf("request %d.%d when the context is made; where that fails, %s", want[0], want[1], updateDriver)
		}
		return fmt.Errorf("%w: %s (%s) has %s %d.%d; %d.%d is needed: %s",
			ErrTooOld, gl.text(gl45.RENDERER), gl.text(gl45.VERSION), api, have[0], have[1], want[0], want[1], hint)
	}
	gl.c.full = api == OpenGL && atLeast(have, 4, 5)
	if !atLeast(have, lowest[api][0], lowest[api][1]) {
		return nil // for a replay
	}
	if name := firstMissing(gl.c.full, isMissing); name != "" {
		return fmt.Errorf("%w: the driver lacks %s, which %s %d.%d has: %s", ErrTooOld, name, api, have[0], have[1], updateDriver)
	}
	return nil
}

// isCurrent reports whether any context is current on this thread.
func isCurrent() bool { return gl45.GetString(gl45.VERSION) != nil }

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
