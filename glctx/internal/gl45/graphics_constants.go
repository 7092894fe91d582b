package gl45

// Constants of the calls of graphics.
const (
	ACTIVE_ATTRIBUTES           = 0x8B89
	ACTIVE_UNIFORMS             = 0x8B86
	ARRAY_BUFFER                = 0x8892
	COLOR_ATTACHMENT0           = 0x8CE0
	DOUBLE                      = 0x140A
	FRAMEBUFFER                 = 0x8D40
	GEOMETRY_INPUT_TYPE         = 0x8917
	LINES                       = 0x0001
	LINES_ADJACENCY             = 0x000A
	MAX_DRAW_BUFFERS            = 0x8824
	PATCHES                     = 0x000E
	PATCH_VERTICES              = 0x8E72
	POINTS                      = 0x0000
	PROGRAM_OUTPUT              = 0x92E4
	PROGRAM_SEPARABLE           = 0x8258
	RENDERBUFFER                = 0x8D41
	SCISSOR_TEST                = 0x0C11
	SHADER_BINARY_FORMAT_SPIR_V = 0x9551
	STATIC_DRAW                 = 0x88E4
	TRIANGLES                   = 0x0004
	TRIANGLES_ADJACENCY         = 0x000C
)
