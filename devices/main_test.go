//go:build linux

package devices_test

import (
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }
