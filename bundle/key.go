package bundle

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
	// maxKeyBytes limits the size of a key file. Those of GenerateKey have 119 and 113
	// bytes.
	maxKeyBytes = 64 << 10
)

// signatureContext separates signatures of bundles from other uses of the key.
const signatureContext = "shadercache bundle manifest\x00"

// GenerateKey writes a new ed25519 key pair as PEM files: the private key to
// path, readable only by the user, the public key to path.pub. It does not replace
// files.
func GenerateKey(path string) error {
	if err := generateKey(path); err != nil {
		return fmt.Errorf("bundle: generate key: %w", err)
	}
	return nil
}

func generateKey(path string) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	privateDER, err := encodePrivateKey(private)
	if err != nil {
		return err
	}
	publicDER, err := encodePublicKey(public)
	if err != nil {
		return err
	}
	if err := writeNew(path, privateBlock, privateDER, 0o600); err != nil {
		return err
	}
	if err := writeNew(path+".pub", publicBlock, publicDER, 0o644); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// ReadPrivateKey reads the key that GenerateKey wrote, or any ed25519 key in
// PKCS #8 and PEM, as "openssl genpkey -algorithm ed25519" writes it.
func ReadPrivateKey(path string) (ed25519.PrivateKey, error) {
	return readKey(path, "private key", privateBlock, decodePrivateKey)
}

// ReadPublicKey reads the .pub file that GenerateKey wrote, or any ed25519
// public key in PKIX and PEM.
func ReadPublicKey(path string) (ed25519.PublicKey, error) {
	return readKey(path, "public key", publicBlock, decodePublicKey)
}

// readKey reads a key of type K from a file with one PEM block. what is its name in
// errors.
func readKey[K any](path, what, block string, decode func(der []byte) (K, error)) (key K, err error) {
	der, err := readBlock(path, block)
	if err != nil {
		return key, fmt.Errorf("bundle: read %s: %w", what, err)
	}
	if key, err = decode(der); err != nil {
		return key, fmt.Errorf("bundle: read %s %s: %w", what, path, err)
	}
	return key, nil
}

func writeNew(path, kind string, der []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	return errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: der}), f.Close())
}

// readBlock returns the content of a file with one PEM block of a kind.
func readBlock(path, kind string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxKeyBytes {
		return nil, fmt.Errorf("%s is not a key file", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM file", path)
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
