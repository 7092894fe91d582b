//go:build linux && cgo

package glctx

import "slices"

// always is the calls that every context needs: desktop OpenGL 4.3 and OpenGL ES 3.1 have
// them.
var always = []string{
	"glAttachShader", "glBindBuffer", "glBindBufferBase", "glBindBufferRange", "glBindImageTexture",
	"glBindSampler", "glBufferData", "glBufferSubData", "glClientWaitSync", "glCompileShader",
	"glCopyBufferSubData", "glCreateProgram", "glCreateShader", "glDeleteBuffers",
	"glDeleteProgram", "glDeleteQueries", "glDeleteSamplers", "glDeleteShader", "glDeleteSync",
	"glDeleteTextures", "glDetachShader", "glDisable", "glDispatchCompute",
	"glDispatchComputeIndirect", "glEnable", "glFenceSync", "glFinish", "glFlush", "glGenBuffers",
	"glGetError", "glGetInteger64v", "glGetIntegeri_v", "glGetIntegerv", "glGetProgramBinary",
	"glGetProgramInfoLog", "glGetProgramInterfaceiv", "glGetProgramResourceIndex",
	"glGetProgramResourceName", "glGetProgramResourceiv", "glGetProgramiv", "glGetShaderInfoLog",
	"glGetShaderiv", "glGetString", "glGetStringi", "glGetUniformLocation", "glGetUniformiv",
	"glIsProgram", "glLinkProgram", "glMapBufferRange", "glMemoryBarrier", "glPixelStorei",
	"glProgramBinary", "glProgramParameteri", "glProgramUniform1iv",
	"glSamplerParameteri", "glShaderSource", "glUniform1f", "glUniform1fv", "glUniform1i",
	"glUniform1iv", "glUniform1ui", "glUniform1uiv", "glUniform2fv", "glUniform2iv",
	"glUniform2uiv", "glUniform3fv", "glUniform3iv", "glUniform3uiv", "glUniform4fv",
	"glUniform4iv", "glUniform4uiv", "glUniformMatrix2fv", "glUniformMatrix2x3fv",
	"glUniformMatrix2x4fv", "glUniformMatrix3fv", "glUniformMatrix3x2fv", "glUniformMatrix3x4fv",
	"glUniformMatrix4fv", "glUniformMatrix4x2fv", "glUniformMatrix4x3fv", "glUnmapBuffer",
	"glUseProgram",
}

// from45 is the calls that contexts of desktop OpenGL 4.5 need in addition.
var from45 = []string{
	"glBindTextureUnit", "glClearNamedBufferSubData",
	"glClearTexSubImage", "glCopyNamedBufferSubData", "glCreateBuffers",
	"glCreateQueries", "glCreateSamplers", "glCreateTextures", "glDebugMessageCallback",
	"glFlushMappedNamedBufferRange", "glGetGraphicsResetStatus",
	"glGetNamedBufferSubData", "glGetQueryObjectui64v", "glGetTextureParameteriv",
	"glGetTextureSubImage", "glMapNamedBufferRange", "glNamedBufferStorage", "glNamedBufferSubData",
	"glQueryCounter", "glTextureParameteri", "glTextureStorage1D", "glTextureStorage2D",
	"glTextureStorage3D", "glTextureSubImage1D", "glTextureSubImage2D", "glTextureSubImage3D",
	"glUniform1dv", "glUniform2dv", "glUniform3dv", "glUniform4dv", "glUniformMatrix2dv",
	"glUniformMatrix2x3dv", "glUniformMatrix2x4dv", "glUniformMatrix3dv", "glUniformMatrix3x2dv",
	"glUniformMatrix3x4dv", "glUniformMatrix4dv", "glUniformMatrix4x2dv", "glUniformMatrix4x3dv",
	"glUnmapNamedBuffer",
}

// byExtension is the calls that some contexts have, and that are used only there.
var byExtension = []string{
	"glDebugMessageCallbackKHR", "glDispatchComputeGroupSizeARB", "glGetGraphicsResetStatusARB",
	"glGetGraphicsResetStatusKHR", "glMaxShaderCompilerThreadsARB",
	"glMaxShaderCompilerThreadsKHR",
}

// firstMissing returns the name of a call that a context needs and isMissing reports, or
// "". full: it is of desktop OpenGL 4.5 or newer. Other calls are made where the version or an
// extension has them: those in byExtension, and those of replay*.go for programs of recordings.
func firstMissing(full bool, isMissing func(name string) bool) string {
	needed := always
	if full {
		needed = slices.Concat(always, from45)
	}
	if i := slices.IndexFunc(needed, isMissing); i >= 0 {
		return needed[i]
	}
	return ""
}
