package glctx

import (
	"os"
	"slices"
	"strings"
)

// inlineUniforms is the variable that has zink compile programs again for the values of
// uniforms that decide where they branch; where Vulkan's driver runs on the CPU it does so
// by default. Mesa 25.0 mixes these up: a program that is used in turn with others may be
// dispatched with the values of an earlier dispatch (docs/drivers.md).
// Open turns that off for contexts that the process opens from then on.
const inlineUniforms = "ZINK_INLINE_UNIFORMS"

// CheckUniforms returns ErrStaleUniforms where the driver may run a program with wrong
// uniforms: on zink over a driver on the CPU, in an adopted context whose owner did not set
// ZINK_INLINE_UNIFORMS=0, which Open does.
func (c *Context) CheckUniforms() error {
	if c.info.inlinesUniforms(os.Getenv(inlineUniforms)) {
		return ErrStaleUniforms
	}
	return nil
}

// inlinesUniforms reports whether zink inlines uniforms, with a value of its variable.
func (i Info) inlinesUniforms(set string) bool {
	is := func(values ...string) bool { return slices.Contains(values, strings.ToLower(set)) }
	return i.isZink() && (is("1", "y", "yes", "t", "true") || i.Software() && !is("0", "n", "no", "f", "false"))
}
