package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/fleet"
)

// ErrRedirect is returned for a redirect that is not followed: credentials stay with the
// host that they are for.
var ErrRedirect = errors.New("redirects elsewhere")

// Classify returns an error of package fleet for a request that got no answer.
func Classify(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL, which the caller adds
	}
	switch {
	case Typed(err): // that of a proxy
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w: no answer: %w", fleet.ErrUnreachable, ctx.Err())
	case errors.Is(err, ErrRedirect):
		return fmt.Errorf("%w: the server %w, which is not followed (hint: use the URL of that place)", fleet.ErrProtocol, err)
	case isAlert(err):
		return fmt.Errorf("%w: the server refuses the client certificate (hint: SHADERCACHE_REMOTE_CERT and _KEY): %w", fleet.ErrDenied, err)
	case isCertificate(err):
		return fmt.Errorf("%w: the server's certificate is not trusted (hint: SHADERCACHE_REMOTE_CA): %w", fleet.ErrProtocol, err)
	case isMalformed(err):
		return fmt.Errorf("%w: %w", fleet.ErrProtocol, err)
	}
	return Unreachable(err)
}

// Unreachable returns an error of a connection as one of package fleet.
func Unreachable(err error) error {
	if err == io.EOF { // an end where an answer should begin is none for the reader
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", fleet.ErrUnreachable, err)
}

func isCertificate(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	return unverified
}

// isAlert reports whether the server ended the TLS handshake because of the client.
func isAlert(err error) bool {
	_, typed := errors.AsType[tls.AlertError](err)
	text := err.Error()
	return (typed || strings.Contains(text, "remote error: tls: ")) && strings.Contains(text, "certificate")
}

// isMalformed reports whether an answer is not HTTP. Most of such errors of net/http have no
// type.
func isMalformed(err error) bool {
	_, malformed := errors.AsType[textproto.ProtocolError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	if malformed || plain {
		return true
	}
	parts := []string{"malformed", "Content-Length", "transfer encoding", "headers exceeded",
		"HTTP response to HTTPS", "unexpected protocol", "unsupported protocol",
		"PROTOCOL_ERROR", "COMPRESSION_ERROR", "FLOW_CONTROL_ERROR", "frame too large"} // HTTP/2
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// Typed reports whether an error is one of package fleet.
func Typed(err error) bool {
	known := []error{fleet.ErrNotFound, fleet.ErrChanged, fleet.ErrDenied, fleet.ErrBusy,
		fleet.ErrUnreachable, fleet.ErrProtocol}
	return slices.ContainsFunc(known, func(one error) bool { return errors.Is(err, one) })
}

// SameHost is a redirect policy for http.Client: it follows a redirect of a request that
// reads, to the same scheme and host, three times.
func SameHost(next *http.Request, via []*http.Request) error {
	first := via[0]
	same := next.URL.Scheme == first.URL.Scheme && next.URL.Host == first.URL.Host
	reads := first.Method == http.MethodGet || first.Method == http.MethodHead
	if !same || !reads || len(via) > 3 {
		return ErrRedirect
	}
	return nil
}
