package fleet

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

var fuzzDriver = binary.Fingerprint{Vendor: "Mesa", Renderer: "llvmpipe", Version: "4.5", Formats: []uint32{1}, PointerBits: 64}

func fuzzHead() *Head {
	return &Head{
		Schema: headSchema, Fingerprint: fuzzDriver.Digest(), Driver: fuzzDriver, Sequence: 7, Time: time.Unix(1773500000, 0).UTC(),
		Name: "fuzz", Epoch: 1, Expires: time.Unix(1873500000, 0).UTC(),
		Packs:   []Pack{{SHA256: sha256.Sum256([]byte("a")), Size: 1000, Unpacked: 3000, Programs: 2, Replaces: []shader.Digest{{1}}}},
		Retired: []Retired{{shader.Digest{1}, time.Unix(1773500000, 0).UTC()}},
	}
}

// A head that is decoded is written back to the same bytes, so that a signature covers what
// is used.
func FuzzDecodeHead(f *testing.F) {
	whole, err := fuzzHead().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(bytes.Replace(whole, []byte(`"schema": 2`), []byte(`"schema": 3`), 1))
	f.Add([]byte(`{"schema":1,"packs":null}`))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := decodeHead(data, fuzzDriver.Digest())
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("the error is no refusal: %v", err)
			}
			return
		}
		if again, err := h.encode(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%v: %q was written back as %q", err, data, again)
		}
	})
}

// No object is accepted but the one that was signed.
func FuzzUnseal(f *testing.F) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	keys := []ed25519.PublicKey{private.Public().(ed25519.PublicKey)}
	whole, err := fuzzHead().encode()
	if err != nil {
		f.Fatal(err)
	}
	signed := signHead(private, whole)
	f.Add(signed)
	f.Add(signHead(nil, whole))
	f.Add(signed[:len(signed)/2])
	end := bytes.Index(signed, []byte("==\n"))
	for _, other := range []string{"\r==\n", "==\r\n", "\n==\n"} { // which base64 ignores
		f.Add(bytes.Replace(signed, []byte("==\n"), []byte(other), 1))
	}
	for i := range 256 { // the last digit has 4 bits too many
		f.Add(slices.Concat(signed[:end-1], []byte{byte(i)}, signed[end:]))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		content, signer, err := verifyHead(object, keys, false)
		if err == nil && (signer == "" || !bytes.Equal(content, whole) || !bytes.Equal(object, signed)) {
			t.Fatalf("accepted %q", object)
		}
		if err != nil && !errors.Is(err, ErrRefused) {
			t.Fatalf("the error is no refusal: %v", err)
		}
	})
}
