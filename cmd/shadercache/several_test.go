package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

// TestCommandOnTwoDrivers runs the scripts whose processes see a second GPU, of another
// driver, that compiles no program whose text has "not on the second". With $BROKEN for
// its faults it has no context.
func TestCommandOnTwoDrivers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	gltest.Open(t)
	p := scripts("testdata/script/twin", nil)
	twin := faultgl.Fault{Mode: faultgl.Twin, At: "eglQueryDevicesEXT"}
	broken := faultgl.Fault{Mode: faultgl.Refuse, At: "glGetString", OnTwin: true}
	setup, environment := p.Setup, faultgl.Environment(t, twin,
		faultgl.Fault{Mode: faultgl.Refuse, At: "glCompileShader", OnTwin: true, Source: "not on the second"})
	p.Setup = func(e *testscript.Env) error {
		for _, setting := range environment {
			name, value, _ := strings.Cut(setting, "=")
			e.Setenv(name, value)
		}
		e.Setenv("BROKEN", twin.String()+"\n"+broken.String())
		return setup(e)
	}
	testscript.Run(t, p)
}
