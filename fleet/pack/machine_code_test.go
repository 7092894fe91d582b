//go:build linux && egl

package pack

import (
	"bytes"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// The user's variables keep the driver's machine code elsewhere, as two directories for
// the two layers did: what travels then is half of what makes a start fast.
func TestProgramsWithoutMachineCodeAreNamed(t *testing.T) {
	gltest.Open(t) // skips or fails without a driver
	for _, apart := range []bool{false, true} {
		d, fresh := openDir(t), openDir(t)
		if apart {
			t.Setenv(usersEnvironment, t.TempDir())
		}
		first := runGL(t, d, "2.0")
		var b bytes.Buffer
		out, err := Export(&b, d, ExportOptions{})
		must(t, err)
		in, err := Import(&b, fresh, ImportOptions{Trust: true, Drivers: []binary.Fingerprint{first.Fingerprint}})
		must(t, err)
		want := 0
		if apart {
			want = 1
		}
		if len(out.WithoutMachineCode) != want || len(in.WithoutMachineCode) != want {
			t.Errorf("apart %v: exported without machine code for %q, imported %q", apart, out.WithoutMachineCode, in.WithoutMachineCode)
		}
	}
}
