//go:build linux

package isolate_test

import (
	"os"

	"github.com/shadercache/shadercache/cache/isolate"
)

// The children of the example run its serve: TestMain would serve the cache of the tests.
func init() {
	if isolate.IsChild() && os.Getenv("ISOLATE_TEST_DIR") == "" {
		serve()
	}
}
