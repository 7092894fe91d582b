package pack

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"
)

// Key files are those of crypto/x509, and of openssl, which this package does not link.
func TestKeyFilesAreStandard(t *testing.T) {
	public, private := keys(t)
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	must(t, err)
	path := filepath.Join(t.TempDir(), "standard")
	must(t, writeNew(path, privateBlock, privateDER, 0o600))
	must(t, writeNew(path+".pub", publicBlock, publicDER, 0o600))
	if got, err := ReadPrivateKey(path); err != nil || !got.Equal(private) {
		t.Errorf("private: %v", err)
	}
	if got, err := ReadPublicKey(path + ".pub"); err != nil || !got.Equal(public) {
		t.Errorf("public: %v", err)
	}

	made := filepath.Join(t.TempDir(), "made")
	must(t, GenerateKey(made))
	der, err := readBlock(made, privateBlock)
	must(t, err)
	if key, err := x509.ParsePKCS8PrivateKey(der); err != nil || len(key.(ed25519.PrivateKey)) != ed25519.PrivateKeySize {
		t.Errorf("private: %v", err)
	}
	der, err = readBlock(made+".pub", publicBlock)
	must(t, err)
	if _, err := x509.ParsePKIXPublicKey(der); err != nil {
		t.Errorf("public: %v", err)
	}

	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err = x509.MarshalPKCS8PrivateKey(other)
	must(t, err)
	must(t, writeNew(path+"-ecdsa", privateBlock, der, 0o600))
	if _, err := ReadPrivateKey(path + "-ecdsa"); err == nil || !strings.Contains(err.Error(), "not an ed25519 key") {
		t.Errorf("another kind of key: %v", err)
	}
}
