package glctx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// API is an OpenGL API.
type API uint8

// The two APIs.
const (
	OpenGL   API = iota // desktop OpenGL
	OpenGLES            // OpenGL ES
)

func (a API) String() string {
	if a == OpenGLES {
		return "OpenGL ES"
	}
	return "OpenGL"
}

// Kind is the kind of a context: API, version, profile and flags. The zero value is
// desktop OpenGL 4.5 or newer, core profile, which every part of this module works with.
//
// Programs compile, load and prime, and buffers work, in desktop OpenGL from 4.3 and
// OpenGL ES from 3.1. The other parts need desktop OpenGL 4.5 and return [ErrNeeds45]:
// see [Context.Require45].
//
// Driver and fingerprint differ from kind to kind: a program that one context compiled is
// not loaded in a context of another API, profile or version.
type Kind struct {
	API API

	// Major and Minor are the lowest version. The driver may make a newer one.
	// Default: 4.5 of OpenGL, 3.1 of OpenGL ES; of both the newest that there is.
	Major, Minor int

	// Compatibility requests the compatibility profile of desktop OpenGL.
	Compatibility bool

	// ForwardCompatible, Robust and NoError request these flags. Robust makes a driver
	// check the bounds of buffers, in other machine code. With NoError a wrong call has
	// no error but undefined behaviour.
	ForwardCompatible bool
	Robust            bool
	NoError           bool
}

// String returns the kind for people, such as "OpenGL ES 3.1" or "OpenGL 4.3,
// compatibility, robust".
func (k Kind) String() string {
	major, minor := k.Version()
	text := fmt.Sprintf("%s %d.%d", k.API, major, minor)
	for _, flag := range kindFlags {
		if *flag.of(&k) {
			text += ", " + flag.name
		}
	}
	return text
}

// kindFlags are what may follow the version in the text of a kind.
var kindFlags = []struct {
	name string
	of   func(*Kind) *bool
}{
	{"compatibility", func(k *Kind) *bool { return &k.Compatibility }},
	{"forward", func(k *Kind) *bool { return &k.ForwardCompatible }},
	{"robust", func(k *Kind) *bool { return &k.Robust }},
	{"no-error", func(k *Kind) *bool { return &k.NoError }},
}

// MarshalText returns the kind as UnmarshalText reads it.
func (k Kind) MarshalText() ([]byte, error) {
	text := "gl"
	if k.API == OpenGLES {
		text = "gles"
	}
	if k.Major != 0 || k.Minor != 0 {
		text += fmt.Sprintf("%d.%d", k.Major, k.Minor)
	}
	for _, flag := range kindFlags {
		if *flag.of(&k) {
			text += "," + flag.name
		}
	}
	return []byte(text), k.check()
}

// kindText matches an API with or without a version.
var kindText = regexp.MustCompile(`^(gl|gles)(?:([1-9])\.([0-9]))?$`)

// UnmarshalText sets the kind: "gl" or "gles", then the version where one is requested, then
// flags, as in "gles3.1" and "gl4.3,compatibility,robust".
func (k *Kind) UnmarshalText(text []byte) error {
	list := strings.Split(string(text), ",")
	parts := kindText.FindStringSubmatch(list[0])
	if parts == nil {
		return fmt.Errorf("%w: %q begins with neither gl nor gles and a version, as in gles3.1", ErrKind, text)
	}
	parsed := Kind{}
	if parts[1] == "gles" {
		parsed.API = OpenGLES
	}
	parsed.Major, _ = strconv.Atoi(parts[2])
	parsed.Minor, _ = strconv.Atoi(parts[3])
	for _, name := range list[1:] {
		if !parsed.set(name) {
			return fmt.Errorf("%w: %q has the flag %q, and there are compatibility, forward, robust and no-error", ErrKind, text, name)
		}
	}
	if err := parsed.check(); err != nil {
		return err
	}
	*k = parsed
	return nil
}

// set sets a flag by its name and reports whether there is one of it.
func (k *Kind) set(name string) bool {
	for _, flag := range kindFlags {
		if flag.name == name {
			*flag.of(k) = true
			return true
		}
	}
	return false
}

// Version returns the lowest version, also where the kind has the default.
func (k Kind) Version() (major, minor int) {
	switch {
	case k.Major != 0 || k.Minor != 0:
		return k.Major, k.Minor
	case k.API == OpenGLES:
		return 3, 1
	}
	return 4, 5
}

// check returns an error for a kind that no driver has.
func (k Kind) check() error {
	major, minor := k.Version()
	switch {
	case k.API > OpenGLES, major < 1, minor < 0, major > 99, minor > 99:
		return fmt.Errorf("%w: API %d, version %d.%d", ErrKind, k.API, major, minor)
	case k.API == OpenGLES && (k.Compatibility || k.ForwardCompatible):
		return fmt.Errorf("%w: %s: only desktop OpenGL has profiles and forward compatible contexts", ErrKind, k)
	}
	return nil
}

// versions returns the versions to request, best first. Some drivers make exactly the
// version that is requested.
func (k Kind) versions() [][2]int {
	switch {
	case k.Major != 0 || k.Minor != 0:
		return [][2]int{{k.Major, k.Minor}}
	case k.API == OpenGLES:
		return [][2]int{{3, 2}, {3, 1}}
	}
	return [][2]int{{4, 6}, {4, 5}}
}

// Attributes of eglCreateContext.
const (
	eglMajorVersion  = 0x3098
	eglMinorVersion  = 0x30FB
	eglProfileMask   = 0x30FD
	eglCore          = 0x0001
	eglCompatibility = 0x0002
	eglForward       = 0x31B1
	eglDebug         = 0x31B0
	eglRobust        = 0x31B2
	eglNoError       = 0x31B3
	eglResetStrategy = 0x31BD
	eglLoseOnReset   = 0x31BF
)

// attributes returns lists of EGL attributes and their values, without the end mark, of
// which the first that the driver accepts is used: with reset notification where that is
// supported, and the newest version.
func (k Kind) attributes(debug bool) (lists [][]int32) {
	var common []int32
	if k.API == OpenGL {
		profile := int32(eglCore)
		if k.Compatibility {
			profile = eglCompatibility
		}
		common = append(common, eglProfileMask, profile)
	}
	for _, flag := range []struct {
		set  bool
		name int32
	}{{debug, eglDebug}, {k.ForwardCompatible, eglForward}, {k.Robust, eglRobust}, {k.NoError, eglNoError}} {
		if flag.set {
			common = append(common, flag.name, 1)
		}
	}
	for _, notification := range [][]int32{{eglResetStrategy, eglLoseOnReset}, nil} {
		for _, v := range k.versions() {
			list := append([]int32{eglMajorVersion, int32(v[0]), eglMinorVersion, int32(v[1])}, common...)
			lists = append(lists, append(list, notification...))
		}
	}
	return lists
}

// Kind returns the kind of the context as the driver reports it: Major and Minor are the
// version that it has.
func (c *Context) Kind() Kind { return kindOf(c.recordingContext()) }

// atLeast reports whether a version is major.minor or newer.
func atLeast(have [2]int, major, minor int) bool {
	return have[0] > major || have[0] == major && have[1] >= minor
}

// Require45 returns nil in a context of desktop OpenGL 4.5 or newer, else an error that
// wraps ErrNeeds45. what is the part that needs it, for the message.
func (c *Context) Require45(what string) error {
	if c.full {
		return nil
	}
	return fmt.Errorf("%w for %s: this context is %s; Get, Compile, Load and buffers work in it", ErrNeeds45, what, c.Kind())
}

// glslNote returns a line about a source with another GLSL than the context's, or "".
func (i Info) glslNote(version string) string {
	number, profile, _ := strings.Cut(version, " ")
	has := i.Major*100 + i.Minor*10
	wanted, err := strconv.Atoi(number)
	es := strings.TrimSpace(profile) == "es"
	if err != nil || es == (i.API == OpenGLES) && wanted <= has {
		return ""
	}
	line := fmt.Sprintf("#version %d core", has)
	if i.API == OpenGLES {
		line = fmt.Sprintf("#version %d es", has)
	}
	return fmt.Sprintf("note: the text is of #version %s, and the context is %s %d.%d: it compiles %s and older",
		version, i.API, i.Major, i.Minor, line)
}

// lowest is the lowest version of each API in which programs can be cached: the first
// that has compute shaders.
var lowest = map[API][2]int{OpenGL: {4, 3}, OpenGLES: {3, 1}}

// lowestReplayed is the lowest version for the programs of a recording, which may be
// graphics: the first of both APIs that has framebuffers and vertex arrays.
var lowestReplayed = [2]int{3, 0}

// lowest returns the lowest version that can be used.
func (o Options) lowest(api API) [2]int {
	if o.replay {
		return lowestReplayed
	}
	return lowest[api]
}

// updateDriver is the hint for drivers that are too old.
const updateDriver = "update the GPU's driver, or Mesa to 20.2 or newer"

// tryES is the hint where desktop OpenGL is missing or too old.
const tryES = "where the driver has OpenGL 4.3, or OpenGL ES 3.1 as on a Raspberry Pi, which are enough for the cache alone, " +
	"request that: glctx.Options.Kind, or --api gl4.3 or gles of the commands"
