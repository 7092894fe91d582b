package oci

import (
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/fleet/remotetest"
)

func TestSlow(t *testing.T) {
	at := func(address string) string { return "oci://" + address + "/fleet/shaders" }
	remotetest.Slow(t, at, func(n int) string {
		next := fmt.Sprintf(`Link: </v2/fleet/shaders/tags/list?last=%d>; rel="next"`, n)
		return remotetest.Page("application/json", `{"tags":["other"]}`, next)
	})
}
