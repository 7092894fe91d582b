package pack

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
)

func keys(t testing.TB) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{42}, ed25519.SeedSize))
	return private.Public().(ed25519.PublicKey), private
}

func TestSignatures(t *testing.T) {
	from := filledDir(t)
	public, private := keys(t)
	otherKey := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	signed, unsigned := exported(t, from, ExportOptions{SignKey: private}), exported(t, from, ExportOptions{})
	for _, test := range []struct {
		name   string
		bundle []byte
		key    ed25519.PublicKey
		want   error
	}{
		{"signed, right key", signed, public, nil},
		{"signed, no key", signed, nil, nil},
		{"signed, other key", signed, otherKey, ErrSignature},
		{"unsigned, a key", unsigned, public, ErrUnsigned},
	} {
		to := openDir(t)
		r, err := Import(bytes.NewReader(test.bundle), to, ImportOptions{Trust: true, AnyDriver: true, VerifyKey: test.key})
		if !errors.Is(err, test.want) || err == nil && (!r.Signed || r.Verified != (test.key != nil)) {
			t.Errorf("%s: %+v, %v, want %v", test.name, r, err, test.want)
		}
		if err != nil {
			wantEmpty(t, to)
		}
	}
}

// Without a proof of origin an import leaves out the files that the driver executes,
// unless the caller sets Trust.
func TestOnlyTrustedCodeIsImported(t *testing.T) {
	from := filledDir(t)
	putTuning(t, from, nvidiaFingerprint, "p", 1)
	public, private := keys(t)
	signed, unsigned := exported(t, from, ExportOptions{SignKey: private}), exported(t, from, ExportOptions{})
	for _, test := range []struct {
		name                string
		bundle              []byte
		options             ImportOptions
		trust               Trust
		programs, files     int
		noPrograms, noFiles int
	}{
		{"unsigned", unsigned, ImportOptions{AnyDriver: true}, TrustNone, 1, 0, 2, 6},
		{"signed, no key", signed, ImportOptions{AnyDriver: true}, TrustNone, 1, 0, 2, 6},
		{"unsigned, NVIDIA", unsigned, ImportOptions{Drivers: []binary.Fingerprint{nvidiaFingerprint}}, TrustNone, 0, 0, 2, 4},
		{"unsigned, Mesa", unsigned, ImportOptions{Drivers: []binary.Fingerprint{mesaFingerprint}}, TrustNone, 1, 0, 0, 2},
		{"unsigned, trusted", unsigned, ImportOptions{AnyDriver: true, Trust: true}, TrustCaller, 3, 6, 0, 0},
		{"signed, a key", signed, ImportOptions{AnyDriver: true, VerifyKey: public}, TrustSignature, 3, 6, 0, 0},
		{"signed, a key, trusted", signed, ImportOptions{AnyDriver: true, VerifyKey: public, Trust: true}, TrustSignature, 3, 6, 0, 0},
	} {
		to := openDir(t)
		r, err := Import(bytes.NewReader(test.bundle), to, test.options)
		if err != nil || r.Trust != test.trust || r.Programs != test.programs || r.DriverFiles != test.files ||
			r.UntrustedPrograms != test.noPrograms || r.UntrustedDriverFiles != test.noFiles || r.Sources != 1 {
			t.Errorf("%s: %+v, %v", test.name, r, err)
		}
		code := 0
		for name := range tree(t, to.Path()) {
			if strings.HasPrefix(name, "driver/") || strings.HasPrefix(name, nvidiaFingerprint.DirName()+"/blobs/") {
				code++
			}
		}
		if test.trust == TrustNone && code != 0 {
			t.Errorf("%s: %d files of native code were written", test.name, code)
		}
	}
}

func TestBinariesAreCode(t *testing.T) {
	classic, unknown := mesaFingerprint, mesaFingerprint
	classic.Renderer, unknown.Version = "Mesa DRI Intel(R) HD Graphics", "4.6.14761 Compatibility Profile"
	if binariesAreCode(mesaFingerprint) || !binariesAreCode(nvidiaFingerprint) || !binariesAreCode(classic) || !binariesAreCode(unknown) {
		t.Error("the wrong drivers")
	}
}

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	must(t, GenerateKey(path))
	private, err := ReadPrivateKey(path)
	must(t, err)
	public, err := ReadPublicKey(path + ".pub")
	must(t, err)
	if !public.Equal(private.Public()) {
		t.Error("the two files are not a key pair")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("private key: %v, %v", info.Mode(), err)
	}
	if err := GenerateKey(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second key with the same path: %v", err)
	}
	if _, err := ReadPrivateKey(path + ".pub"); err == nil || !strings.Contains(err.Error(), "signing takes the private key") {
		t.Errorf("public for private: %v", err)
	}
	if _, err := ReadPublicKey(path); err == nil || !strings.Contains(err.Error(), "verifying the .pub file") {
		t.Errorf("private for public: %v", err)
	}
	both := filepath.Join(t.TempDir(), "both.pub")
	data, err := os.ReadFile(path + ".pub")
	must(t, errors.Join(err, os.WriteFile(both, slices.Concat(data, data), 0o600)))
	if _, err := ReadPublicKey(both); err == nil || !strings.Contains(err.Error(), "several keys") {
		t.Errorf("a file with two keys: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(text, []byte("hello"), 0o600))
	if _, err := ReadPublicKey(text); err == nil || !strings.Contains(err.Error(), "not a PEM file") {
		t.Errorf("text: %v", err)
	}
	data, err = os.ReadFile(path + ".pub")
	must(t, err)
	must(t, os.WriteFile(text, append(data, make([]byte, maxKeyBytes)...), 0o600))
	if _, err := ReadPublicKey(text); err == nil || !strings.Contains(err.Error(), "not a key file") {
		t.Errorf("a file larger than any key: %v", err)
	}
	if _, err := ReadPrivateKey(t.TempDir()); err == nil {
		t.Error("no error for a folder")
	}
	must(t, os.Remove(path))
	if err := GenerateKey(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("an old public key with the same path: %v", err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the private key was left")
	}
}
