package bundle

import (
	"crypto/ed25519"
	"crypto/x509"
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
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("bundle: generate key: %w", err)
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("bundle: generate key: %w", err)
	}
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return fmt.Errorf("bundle: generate key: %w", err)
	}
	if err := writeNew(path, privateBlock, privateDER, 0o600); err != nil {
		return fmt.Errorf("bundle: generate key: %w", err)
	}
	if err := writeNew(path+".pub", publicBlock, publicDER, 0o644); err != nil {
		return errors.Join(fmt.Errorf("bundle: generate key: %w", err), os.Remove(path))
	}
	return nil
}

// ReadPrivateKey reads the key that GenerateKey wrote, or any ed25519 key in
// PKCS #8 and PEM, as "openssl genpkey -algorithm ed25519" writes it.
func ReadPrivateKey(path string) (ed25519.PrivateKey, error) {
	der, err := readBlock(path, privateBlock)
	if err != nil {
		return nil, fmt.Errorf("bundle: read private key: %w", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("bundle: read private key %s: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("bundle: read private key %s: it is a %T, not an ed25519 key", path, key)
	}
	return private, nil
}

// ReadPublicKey reads the .pub file that GenerateKey wrote, or any ed25519
// public key in PKIX and PEM.
func ReadPublicKey(path string) (ed25519.PublicKey, error) {
	der, err := readBlock(path, publicBlock)
	if err != nil {
		return nil, fmt.Errorf("bundle: read public key: %w", err)
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("bundle: read public key %s: %w", path, err)
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("bundle: read public key %s: it is a %T, not an ed25519 key", path, key)
	}
	return public, nil
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
