package isolate

import (
	"testing"

	"github.com/shadercache/shadercache/shader"
)

// TestSourcesKeepTheirKeys sends texts with bytes that JSON has no place for.
func TestSourcesKeepTheirKeys(t *testing.T) {
	for _, text := range []string{"", "#version 430\n// caf\xe9\n", "#version 430\r\n\tx <&> \u2028\n"} {
		source := shader.MustSource("name", text, nil)
		request := encodeSource(source)
		got, err := decodeSource(request)
		if err != nil || got.Key() != source.Key() || got.Text() != source.Text() || got.Name() != "name" {
			t.Errorf("%q became %q: %v", text, got.Text(), err)
		}
	}
}
