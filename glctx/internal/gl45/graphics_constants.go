package gl45

// Constants of the calls of graphics.
const (
	ACTIVE_ATTRIBUTES                         = 0x8B89
	ACTIVE_UNIFORMS                           = 0x8B86
	ARRAY_BUFFER                              = 0x8892
	COLOR_ATTACHMENT0                         = 0x8CE0
	DOUBLE                                    = 0x140A
	DOUBLE_VEC2                               = 0x8FFC
	DOUBLE_VEC3                               = 0x8FFD
	DOUBLE_VEC4                               = 0x8FFE
	FLOAT_MAT2                                = 0x8B5A
	FLOAT_MAT2x3                              = 0x8B65
	FLOAT_MAT2x4                              = 0x8B66
	FLOAT_MAT3                                = 0x8B5B
	FLOAT_MAT3x2                              = 0x8B67
	FLOAT_MAT3x4                              = 0x8B68
	FLOAT_MAT4                                = 0x8B5C
	FLOAT_MAT4x2                              = 0x8B69
	FLOAT_MAT4x3                              = 0x8B6A
	FRAMEBUFFER                               = 0x8D40
	GEOMETRY_INPUT_TYPE                       = 0x8917
	INT_SAMPLER_1D                            = 0x8DC9
	LINES                                     = 0x0001
	LINES_ADJACENCY                           = 0x000A
	MAX_DRAW_BUFFERS                          = 0x8824
	PATCHES                                   = 0x000E
	PATCH_VERTICES                            = 0x8E72
	POINTS                                    = 0x0000
	PROGRAM_OUTPUT                            = 0x92E4
	PROGRAM_SEPARABLE                         = 0x8258
	RENDERBUFFER                              = 0x8D41
	SAMPLER_1D                                = 0x8B5D
	SAMPLER_1D_ARRAY                          = 0x8DC0
	SAMPLER_2D_MULTISAMPLE                    = 0x9108
	SAMPLER_2D_RECT_SHADOW                    = 0x8B64
	SAMPLER_CUBE_MAP_ARRAY                    = 0x900C
	SAMPLER_CUBE_SHADOW                       = 0x8DC5
	SCISSOR_TEST                              = 0x0C11
	SHADER_BINARY_FORMAT_SPIR_V               = 0x9551
	STATIC_DRAW                               = 0x88E4
	TRIANGLES                                 = 0x0004
	TRIANGLES_ADJACENCY                       = 0x000C
	UNSIGNED_INT_SAMPLER_2D_MULTISAMPLE_ARRAY = 0x910D
	UNSIGNED_INT_SAMPLER_BUFFER               = 0x8DD8
	UNSIGNED_INT_SAMPLER_CUBE_MAP_ARRAY       = 0x900F
)
