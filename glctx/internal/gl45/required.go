package gl45

// always is the calls that every context needs: desktop OpenGL 4.3 and OpenGL ES 3.1 have
// them.
var always = []string{
	"glAttachShader", "glBindBuffer", "glBindBufferBase", "glBindBufferRange", "glBufferData",
	"glBufferSubData", "glClientWaitSync", "glCompileShader", "glCopyBufferSubData",
	"glCreateProgram", "glCreateShader", "glDeleteBuffers", "glDeleteProgram",
	"glDeleteQueries", "glDeleteShader", "glDeleteSync", "glDetachShader", "glDisable",
	"glDispatchCompute", "glDispatchComputeIndirect", "glEnable", "glFenceSync", "glFinish",
	"glFlush", "glGenBuffers", "glGetError", "glGetInteger64v", "glGetIntegeri_v",
	"glGetIntegerv", "glGetProgramBinary", "glGetProgramInfoLog", "glGetProgramInterfaceiv",
	"glGetProgramResourceName", "glGetProgramResourceiv", "glGetProgramiv",
	"glGetShaderInfoLog", "glGetShaderiv", "glGetString", "glGetStringi",
	"glGetProgramResourceIndex", "glGetUniformLocation", "glGetUniformiv", "glIsProgram", "glLinkProgram", "glMapBufferRange",
	"glMemoryBarrier", "glProgramBinary", "glProgramParameteri", "glShaderSource",
	"glUniform1f", "glUniform1i", "glUniform1ui", "glUnmapBuffer", "glUseProgram",
}

// from45 is the calls that contexts of desktop OpenGL 4.5 need in addition.
var from45 = []string{
	"glBindImageTexture", "glBindSampler", "glBindTextureUnit", "glClearNamedBufferData",
	"glClearTexSubImage", "glCopyImageSubData", "glCopyNamedBufferSubData", "glCreateBuffers",
	"glCreateQueries", "glCreateSamplers", "glCreateTextures", "glDebugMessageCallback",
	"glDebugMessageInsert", "glDeleteSamplers", "glDeleteTextures", "glGenerateTextureMipmap",
	"glGetGraphicsResetStatus", "glGetNamedBufferSubData", "glGetQueryObjectui64v",
	"glGetTextureParameteriv", "glGetTextureSubImage", "glMapNamedBufferRange",
	"glNamedBufferStorage", "glNamedBufferSubData", "glPixelStorei", "glQueryCounter",
	"glSamplerParameteri", "glTextureParameteri", "glTextureStorage1D", "glTextureStorage2D",
	"glTextureStorage3D", "glTextureSubImage1D", "glTextureSubImage2D", "glTextureSubImage3D",
	"glUniform4dv", "glUnmapNamedBuffer",
}

// FirstMissing returns the name of a call that a context needs and isMissing reports, or
// "". full: it is of desktop OpenGL 4.5 or newer. The other calls of this package are
// used where the version or an extension has them.
func FirstMissing(full bool, isMissing func(name string) bool) string {
	for _, name := range always {
		if isMissing(name) {
			return name
		}
	}
	if !full {
		return ""
	}
	for _, name := range from45 {
		if isMissing(name) {
			return name
		}
	}
	return ""
}
