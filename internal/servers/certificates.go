package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Certificates are PEM files of an authority that was made for one test.
type Certificates struct {
	CA                    string
	ServerCert, ServerKey string
	ClientCert, ClientKey string
}

// NewCertificates makes an authority, and certificates of a server on loopback and of a
// client.
func NewCertificates(t testing.TB) Certificates {
	t.Helper()
	dir := t.TempDir()
	ca := issue(t, "test authority", nil)
	server, client := issue(t, "localhost", ca), issue(t, "client", ca)
	return Certificates{
		CA:         write(t, dir, "ca.pem", ca.pem),
		ServerCert: write(t, dir, "server.pem", server.pem), ServerKey: write(t, dir, "server.key", server.keyPEM),
		ClientCert: write(t, dir, "client.pem", client.pem), ClientKey: write(t, dir, "client.key", client.keyPEM),
	}
}

type issued struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem, keyPEM string
}

// issue makes a certificate, signed by an authority, or by itself and then an authority.
func issue(t testing.TB, name string, by *issued) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), loopback},
	}
	parent := &issued{template, key, "", ""}
	if by == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	} else {
		parent = by
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.certificate, &key.PublicKey, parent.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{
		certificate: template, key: key,
		pem:    string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		keyPEM: string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})),
	}
}
