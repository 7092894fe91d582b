//go:build linux

package conv2d

import (
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }
