package shader

import (
	"strings"
	"testing"
)

func TestDigestText(t *testing.T) {
	h := NewFieldHash()
	h.Number(1)
	h.Text("a")
	digest := h.Digest()
	text, err := digest.MarshalText()
	must(t, err)
	var parsed Digest
	must(t, parsed.UnmarshalText(text))
	if parsed != digest || string(text) != digest.String() || len(digest.Short()) != 8 || !strings.HasPrefix(digest.String(), digest.Short()) {
		t.Errorf("digest %v, text %s, parsed %v, short %s", digest, text, parsed, digest.Short())
	}
	for _, bad := range []string{"", digest.Short(), strings.Repeat("g", 64)} {
		if parsed.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestFieldHashSeparatesFields(t *testing.T) {
	sum := func(texts ...string) Digest {
		h := NewFieldHash()
		for _, text := range texts {
			h.Text(text)
		}
		return h.Digest()
	}
	if sum("ab", "c") == sum("a", "bc") || sum("ab") == sum("ab", "") {
		t.Error("fields are not separated")
	}
}
