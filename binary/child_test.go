package binary

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Tests that need a process to end run this test binary again, with the name of a child
// function and its arguments in the environment.
const childEnvironment = "BINARY_TEST_CHILD"

// program is the path of this test binary. It is looked up before any test: in a chroot a
// thread with mounts of its own would get the path outside.
var program, programErr = os.Executable()

var children = map[string]func(args []string){}

func TestMain(m *testing.M) {
	if name, args, ok := strings.Cut(os.Getenv(childEnvironment), " "); ok {
		children[name](strings.Fields(args))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func childCommand(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	must(t, programErr)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childEnvironment+"="+name+" "+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	return cmd
}

// dieNow ends the process as a crash does, without cleaning up.
func dieNow() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	awaitSignal()
}

// awaitSignal waits for a signal that has been sent. It uses a timer because Go's runtime
// would report a deadlock and end the process first.
func awaitSignal() { time.Sleep(time.Hour) }

func childStore(path string) *Store {
	d, err := OpenDir(path)
	if err != nil {
		panic(err)
	}
	s, err := d.Store(testFingerprint)
	if err != nil {
		panic(err)
	}
	return s
}
