package http

import (
	"testing"

	"github.com/shadercache/shadercache/fleet/remotetest"
)

func TestSlow(t *testing.T) {
	at := func(address string) string { return "http://" + address + "/cache" }
	remotetest.Slow(t, at, func(int) string {
		return remotetest.Page("application/json", `[{"name":"a","type":"directory"},{"name":"b","type":"directory"},{"name":"c","type":"directory"},{"name":"d","type":"directory"},{"name":"e","type":"directory"},{"name":"f","type":"directory"},{"name":"g","type":"directory"},{"name":"h","type":"directory"},{"name":"i","type":"directory"},{"name":"j","type":"directory"},{"name":"k","type":"directory"}]`)
	})
}
