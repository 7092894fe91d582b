package recording

import (
	"fmt"
	"strings"
)

// API is a family of OpenGL.
type API uint32

// The values of API.
const (
	OpenGL   API = 1
	OpenGLES API = 2
)

func (a API) String() string {
	switch a {
	case OpenGL:
		return "OpenGL"
	case OpenGLES:
		return "OpenGL ES"
	}
	return fmt.Sprintf("API %d", uint32(a))
}

// Bits of Context.Profile and Context.Flags, as GL has them.
const (
	ProfileCore          = 0x1
	ProfileCompatibility = 0x2

	FlagForwardCompatible = 0x1
	FlagDebug             = 0x2
	FlagRobust            = 0x4
	FlagNoError           = 0x8
)

// Context is what a driver reports of a context, and on which its code may depend.
type Context struct {
	API     API
	Major   uint32
	Minor   uint32
	Profile uint32 // GL_CONTEXT_PROFILE_MASK
	Flags   uint32 // GL_CONTEXT_FLAGS
}

// String returns a name for people: "OpenGL 4.5 core", "OpenGL ES 3.2 debug".
func (c Context) String() string {
	words := []string{fmt.Sprintf("%s %d.%d", c.API, c.Major, c.Minor)}
	add := func(bits uint32, names map[uint32]string) {
		for bit := uint32(1); bit != 0; bit <<= 1 {
			if bits&bit == 0 {
				continue
			}
			name, known := names[bit]
			if !known {
				name = fmt.Sprintf("%#x", bit)
			}
			words = append(words, name)
		}
	}
	add(c.Profile, map[uint32]string{ProfileCore: "core", ProfileCompatibility: "compatibility"})
	add(c.Flags, map[uint32]string{
		FlagForwardCompatible: "forward-compatible", FlagDebug: "debug", FlagRobust: "robust", FlagNoError: "no-error",
	})
	return strings.Join(words, " ")
}

// check returns an error for a context that no driver has.
func (c Context) check() error {
	if c.API != OpenGL && c.API != OpenGLES {
		return damaged("the context's API is %d, neither OpenGL (1) nor OpenGL ES (2)", uint32(c.API))
	}
	if c.Major < 1 || c.Major > 9 || c.Minor > 9 {
		return damaged("the context's version is %d.%d", c.Major, c.Minor)
	}
	return nil
}
