package bundle

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"strings"
	"testing"
)

// Key files are those of crypto/x509.
func TestKeysAreThoseOfX509(t *testing.T) {
	public, private := keys(t)
	ours, err := encodePrivateKey(private)
	must(t, err)
	theirs, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	if !bytes.Equal(ours, theirs) {
		t.Errorf("private key: %x, want %x", ours, theirs)
	}
	if got, err := decodePrivateKey(theirs); err != nil || !got.Equal(private) {
		t.Errorf("private key: %v", err)
	}
	ours, err = encodePublicKey(public)
	must(t, err)
	theirs, err = x509.MarshalPKIXPublicKey(public)
	must(t, err)
	if !bytes.Equal(ours, theirs) {
		t.Errorf("public key: %x, want %x", ours, theirs)
	}
	if got, err := decodePublicKey(theirs); err != nil || !got.Equal(public) {
		t.Errorf("public key: %v", err)
	}
}

func TestOtherKeysAreRefused(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(t, err)
	if _, err := decodePrivateKey(private); err == nil || !strings.Contains(err.Error(), "not an ed25519 key") {
		t.Errorf("private key: %v", err)
	}
	if _, err := decodePublicKey(public); err == nil || !strings.Contains(err.Error(), "not an ed25519 key") {
		t.Errorf("public key: %v", err)
	}
	for _, der := range [][]byte{nil, {}, {0x30}, private[:len(private)-1], append(bytes.Clone(public), 0)} {
		if _, err := decodePrivateKey(der); err == nil {
			t.Errorf("private key %x was accepted", der)
		}
		if _, err := decodePublicKey(der); err == nil {
			t.Errorf("public key %x was accepted", der)
		}
	}
}
