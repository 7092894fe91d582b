package http

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/fleet/remotetest"
)

func TestSlow(t *testing.T) {
	at := func(address string) string { return "http://" + address + "/cache" }
	var index strings.Builder // of folders in each folder: more than a listing may have, four deep
	for n := range 16 {
		fmt.Fprintf(&index, `,{"name":"%d","type":"directory"}`, n)
	}
	remotetest.Slow(t, at, func(int) string { return remotetest.Page("application/json", "["+index.String()[1:]+"]") })
}
