package bundle

import (
	"crypto/ed25519"
	"encoding/asn1"
	"errors"
	"fmt"
)

// The structures of key files: PKCS #8 (RFC 5958) and PKIX (RFC 8410). crypto/x509 has them
// too, and links package net.
type (
	keyAlgorithm struct {
		ID         asn1.ObjectIdentifier
		Parameters asn1.RawValue `asn1:"optional"`
	}
	privateKeyDER struct {
		Version    int
		Algorithm  keyAlgorithm
		Key        []byte        // the DER of the octets of the seed
		Attributes asn1.RawValue `asn1:"optional,tag:0"`
		PublicKey  asn1.RawValue `asn1:"optional,tag:1"`
	}
	publicKeyDER struct {
		Algorithm keyAlgorithm
		Key       asn1.BitString
	}
)

var ed25519ID = asn1.ObjectIdentifier{1, 3, 101, 112}

var errKeyForm = errors.New("it has not the form of a key")

func encodePrivateKey(key ed25519.PrivateKey) ([]byte, error) {
	seed, err := asn1.Marshal(key.Seed())
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(struct {
		Version   int
		Algorithm keyAlgorithm
		Key       []byte
	}{0, keyAlgorithm{ID: ed25519ID}, seed})
}

func decodePrivateKey(der []byte) (ed25519.PrivateKey, error) {
	var k privateKeyDER
	if rest, err := asn1.Unmarshal(der, &k); err != nil || len(rest) > 0 {
		return nil, errors.Join(errKeyForm, err)
	}
	if err := k.Algorithm.check(); err != nil {
		return nil, err
	}
	var seed []byte
	if rest, err := asn1.Unmarshal(k.Key, &seed); err != nil || len(rest) > 0 || len(seed) != ed25519.SeedSize {
		return nil, errors.Join(errKeyForm, err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func encodePublicKey(key ed25519.PublicKey) ([]byte, error) {
	return asn1.Marshal(publicKeyDER{keyAlgorithm{ID: ed25519ID}, asn1.BitString{Bytes: key, BitLength: 8 * len(key)}})
}

func decodePublicKey(der []byte) (ed25519.PublicKey, error) {
	var k publicKeyDER
	if rest, err := asn1.Unmarshal(der, &k); err != nil || len(rest) > 0 {
		return nil, errors.Join(errKeyForm, err)
	}
	if err := k.Algorithm.check(); err != nil {
		return nil, err
	}
	if k.Key.BitLength != 8*ed25519.PublicKeySize {
		return nil, errKeyForm
	}
	return ed25519.PublicKey(k.Key.Bytes), nil
}

// check returns an error for a key of another algorithm, such as RSA.
func (a keyAlgorithm) check() error {
	if !a.ID.Equal(ed25519ID) {
		return fmt.Errorf("it is a key of algorithm %s, not an ed25519 key", a.ID)
	}
	return nil
}
