package pack

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/shadercache/shadercache/fleet/internal/secret"
)

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"

	// rootBlock is before the names of the blocks of root keys, so that neither kind of key
	// is taken for the other. Of a private one openssl says that it knows no such block.
	rootBlock = "SHADERCACHE ROOT "

	// maxKeyBytes limits the size of a key file. Those of GenerateKey have 119 and 113
	// bytes.
	maxKeyBytes = 64 << 10
)

// What DER has before the bytes of an ed25519 key: PKCS #8 before a private one, PKIX before
// a public one (RFC 8410). crypto/x509 would link package net into each program that keeps
// programs on disk.
const (
	privatePrefix = "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"
	publicPrefix  = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"
)

// signatureContext separates signatures of bundles from other uses of the key.
const signatureContext = "shadercache bundle manifest\x00"

// GenerateKey writes a new ed25519 key pair as PEM files: the private key to
// path, readable only by the user, the public key to path.pub. It does not replace
// files.
func GenerateKey(path string) error { return generateKey(path, "") }

// GenerateRootKey is GenerateKey for a root key, which signs lists of keys and nothing else.
func GenerateRootKey(path string) error { return generateKey(path, rootBlock) }

func generateKey(path, kind string) error {
	if err := writePair(path, kind); err != nil {
		return fmt.Errorf("bundle: generate key: %w", err)
	}
	return nil
}

func writePair(path, kind string) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	if err := writeNew(path, kind+privateBlock, append([]byte(privatePrefix), private.Seed()...), 0o600); err != nil {
		return err
	}
	if err := writeNew(path+".pub", kind+publicBlock, append([]byte(publicPrefix), public...), 0o644); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// ReadPrivateKey reads the key that GenerateKey wrote, or any ed25519 key in
// PKCS #8 and PEM, as "openssl genpkey -algorithm ed25519" writes it.
func ReadPrivateKey(path string) (ed25519.PrivateKey, error) {
	return readPrivate(path, privateBlock)
}

// ReadRootKey reads the private root key that GenerateKey wrote.
func ReadRootKey(path string) (ed25519.PrivateKey, error) {
	return readPrivate(path, rootBlock+privateBlock)
}

func readPrivate(path, block string) (ed25519.PrivateKey, error) {
	seed, err := readKey(path, "private key", block, privatePrefix, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// ReadPublicKey reads the .pub file that GenerateKey wrote, or any ed25519
// public key in PKIX and PEM.
func ReadPublicKey(path string) (ed25519.PublicKey, error) {
	key, err := readKey(path, "public key", publicBlock, publicPrefix, ed25519.PublicKeySize)
	return ed25519.PublicKey(key), err
}

// ReadTrustedKey reads a .pub file of either kind, and reports whether it is of a root key.
func ReadTrustedKey(path string) (key ed25519.PublicKey, root bool, err error) {
	key, err = ReadPublicKey(path)
	if err == nil {
		return key, false, nil
	}
	rootKey, rootErr := readKey(path, "public key", rootBlock+publicBlock, publicPrefix, ed25519.PublicKeySize)
	if rootErr != nil {
		return nil, false, err
	}
	return rootKey, true, nil
}

// readKey reads the bytes of a key from a file with one PEM block. what is its name in
// errors.
func readKey(path, what, block, prefix string, size int) ([]byte, error) {
	der, err := readBlock(path, block)
	if err != nil {
		return nil, fmt.Errorf("bundle: read %s: %w", what, err)
	}
	key, found := bytes.CutPrefix(der, []byte(prefix))
	if !found || len(key) != size {
		return nil, fmt.Errorf("bundle: read %s %s: it is not an ed25519 key", what, path)
	}
	return key, nil
}

// writeNew writes a file that was not there. A failure leaves none.
func writeNew(path, kind string, der []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = pem.Encode(f, &pem.Block{Type: kind, Bytes: der})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path)) // half a key would keep the next one from being made
	}
	return err
}

// readBlock returns the content of a file with one PEM block of a kind.
func readBlock(path, kind string) ([]byte, error) {
	data, err := secret.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) > maxKeyBytes {
		return nil, fmt.Errorf("%s is not a key file", path)
	}
	block, rest := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM file", path)
	}
	if second, _ := pem.Decode(rest); second != nil {
		return nil, fmt.Errorf("%s has several keys: a file has one", path)
	}
	if block.Type != kind {
		return nil, fmt.Errorf("%s has a %s, not a %s: signing takes the private key, verifying the .pub file", path, block.Type, kind)
	}
	return block.Bytes, nil
}

func sign(key ed25519.PrivateKey, manifest []byte) []byte {
	return ed25519.Sign(key, append([]byte(signatureContext), manifest...))
}

func verify(key ed25519.PublicKey, manifest, signature []byte) bool {
	return ed25519.Verify(key, append([]byte(signatureContext), manifest...), signature)
}
