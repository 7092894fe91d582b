package file

import (
	"io"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/powercut"
)

// TestPowerCutAfterPut cuts the power of a server when a push, and a change of keys, has
// returned. What was written is there: else a revoked key would be accepted again, and the
// machine that pushed would take the older head for a rollback.
func TestPowerCutAfterPut(t *testing.T) {
	v := powercut.NewVolume(t)
	b := &backend{v.Dir() + "/store"}
	for _, text := range []string{"the first", "the next"} {
		for _, name := range []string{"v1/keys", "v1/a/packs/" + text, "v1/a/head"} {
			// Put does this on another thread, which does not see the volume.
			_, err := b.put(t.Context(), name, strings.NewReader(text), fleet.PutOptions{})
			must(t, err)
			v.Cut(powercut.Everything)
			o, err := b.get(t.Context(), name, 0)
			must(t, err)
			if got, err := io.ReadAll(o.Body); err != nil || string(got) != text {
				t.Errorf("%s is %q after a power cut, should be %q; %v", name, got, text, err)
			}
		}
	}
}
