package systemtest_test

import (
	"os"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// TestMain runs the processes that tests start, and the tests in the root of the module,
// where they find README.md, docs and all packages.
func TestMain(m *testing.M) {
	runSoakWorker()
	runFleetWorker()
	runConnectProcess()
	runSlowStart()
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(gltest.InCacheDir(func() int {
		// From here on this process manages the driver's cache in that directory.
		if context, err := glctx.Open(glctx.Options{}); err == nil {
			context.Close()
		}
		return m.Run()
	}))
}
