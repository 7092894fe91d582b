// Package web has what the backends that speak HTTP share: connections, the errors of
// answers, and bodies.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/secret"
)

// maxHeader bounds the headers of an answer. Real ones have under 1 KB.
const maxHeader = 64 << 10

// NewTransport returns a transport with the certificates of the environment:
//
//	SHADERCACHE_REMOTE_CA    PEM file: certificates to trust in place of the system's
//	SHADERCACHE_REMOTE_CERT  PEM file: client certificate
//	SHADERCACHE_REMOTE_KEY   PEM file: its key
//
// It has no timeouts of its own, but for the wait before the body of a PUT: each call has a
// context.
func NewTransport(getenv func(string) string) (*Transport, error) {
	settings, err := tlsSettings(getenv)
	if err != nil {
		return nil, err
	}
	t := &Transport{}
	t.Transport = &http.Transport{
		DialContext:            t.dialerOf("http", t.dialer.DialContext),
		DialTLSContext:         t.dialerOf("https", t.dialTLS),
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: checkProxy,
		TLSClientConfig:        settings,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		ExpectContinueTimeout:  time.Second,
	}
	return t, nil
}

// checkProxy returns the error of a proxy that makes no connection. It has nothing of the
// answer's text, which may be any.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	switch code := answer.StatusCode; code {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return fmt.Errorf("%w: the proxy answers with status %d (hint: HTTPS_PROXY has its user and password)", fleet.ErrDenied, code)
	}
	return fmt.Errorf("%w: the proxy answers with status %d", fleet.ErrUnreachable, answer.StatusCode)
}

func tlsSettings(getenv func(string) string) (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if file := getenv("SHADERCACHE_REMOTE_CA"); file != "" {
		data, err := secret.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("SHADERCACHE_REMOTE_CA: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("SHADERCACHE_REMOTE_CA: no certificate in %s (hint: it has to be in PEM form)", file)
		}
	}
	certificate, key := getenv("SHADERCACHE_REMOTE_CERT"), getenv("SHADERCACHE_REMOTE_KEY")
	if certificate == "" && key == "" {
		return settings, nil
	}
	chain, err1 := secret.ReadFile(certificate)
	private, err2 := secret.ReadFile(key)
	pair, err := tls.X509KeyPair(chain, private)
	if err = cmp.Or(err1, err2, err); err != nil {
		return nil, fmt.Errorf("SHADERCACHE_REMOTE_CERT and SHADERCACHE_REMOTE_KEY: %w", err)
	}
	settings.Certificates = []tls.Certificate{pair}
	return settings, nil
}
