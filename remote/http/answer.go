package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/shadercache/shadercache/remote"
)

// checkStatus returns the error of an answer that is no success. It has nothing of the
// answer's text, which may be any.
func checkStatus(response *http.Response, now time.Time) error {
	code := response.StatusCode
	status := strings.TrimSpace(fmt.Sprintf("status %d %s", code, http.StatusText(code)))
	switch {
	case code == http.StatusOK || code == http.StatusCreated || code == http.StatusNoContent:
		return checkPage(response)
	case code == http.StatusNotFound || code == http.StatusGone:
		return fmt.Errorf("%w: %s", remote.ErrNotFound, status)
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return fmt.Errorf("%w: %s (hint: %s)", remote.ErrDenied, status, deniedHint)
	case code == http.StatusPreconditionFailed:
		return fmt.Errorf("%w: %s", remote.ErrChanged, status)
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		return fmt.Errorf("%s: %w", status, &remote.BusyError{RetryAfter: retryAfter(response, now)})
	case code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		return fmt.Errorf("%w: %w: %s (hint: the server has to allow %s here)",
			remote.ErrProtocol, errors.ErrUnsupported, status, response.Request.Method)
	case code >= 500:
		return fmt.Errorf("%w: %s", remote.ErrUnreachable, status)
	}
	if hint := statusHints[code]; hint != "" {
		status += " (hint: " + hint + ")"
	}
	return fmt.Errorf("%w: %s", remote.ErrProtocol, status)
}

const deniedHint = "credentials come from the URL, SHADERCACHE_REMOTE_TOKEN, SHADERCACHE_REMOTE_USER and _PASSWORD, or ~/.netrc"

// statusHints are for statuses that a server's settings explain.
var statusHints = map[int]string{
	http.StatusBadRequest:            "a server that asks for a client certificate answers so: SHADERCACHE_REMOTE_CERT and _KEY",
	http.StatusConflict:              "the server has to make folders itself: create_full_put_path of nginx",
	http.StatusRequestEntityTooLarge: "the server's limit is lower: client_max_body_size of nginx",
}

// checkPage refuses a web page: the answer of a captive portal, or of a login page, has the
// status of a success. nginx answers a PUT with a page of its own and status 201.
func checkPage(response *http.Response) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode == http.StatusOK && (kind == "text/html" || kind == "application/xhtml+xml") {
		return fmt.Errorf("%w: a web page (hint: is there a login page or a captive portal in between?)", remote.ErrProtocol)
	}
	return nil
}

// checkObject refuses an answer to GET that is not the bytes of an object.
func checkObject(response *http.Response) error {
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d for an object", remote.ErrProtocol, response.StatusCode)
	}
	if coding := response.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return fmt.Errorf("%w: an object in another encoding (Content-Encoding)", remote.ErrProtocol)
	}
	return nil
}

// strongTag returns the entity tag of an answer. A weak one matches nothing, so it is none.
func strongTag(response *http.Response) string {
	tag := response.Header.Get("ETag")
	if strings.HasPrefix(tag, "W/") {
		return ""
	}
	return tag
}

// maxRetryAfter bounds what a server can ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter returns the wait that an answer asks for, in seconds or as a date; 0 = none.
func retryAfter(response *http.Response, now time.Time) time.Duration {
	text := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(date.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// classify returns an error of package remote for a request that got no answer.
func classify(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL, which the caller adds
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: no answer: %w", remote.ErrUnreachable, ctx.Err())
	case errors.Is(err, errRedirect):
		return fmt.Errorf("%w: the server %w, which is not followed (hint: use the URL of that place)", remote.ErrProtocol, err)
	case isAlert(err):
		return fmt.Errorf("%w: the server refuses the client certificate (hint: SHADERCACHE_REMOTE_CERT and _KEY): %w", remote.ErrDenied, err)
	case isCertificate(err):
		return fmt.Errorf("%w: the server's certificate is not trusted (hint: SHADERCACHE_REMOTE_CA): %w", remote.ErrProtocol, err)
	case isMalformed(err):
		return fmt.Errorf("%w: %w", remote.ErrProtocol, err)
	}
	return unreachable(err)
}

func unreachable(err error) error {
	if err == io.EOF { // an end where an answer should begin is none for the reader
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", remote.ErrUnreachable, err)
}

func isCertificate(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return unverified || unknown
}

// isAlert reports whether the server ended the TLS handshake because of the client.
func isAlert(err error) bool {
	alert, ok := errors.AsType[tls.AlertError](err)
	if !ok {
		return strings.Contains(err.Error(), "remote error: tls: ") && strings.Contains(err.Error(), "certificate")
	}
	return strings.Contains(alert.Error(), "certificate")
}

// isMalformed reports whether an answer is not HTTP. Most of such errors of net/http have no
// type.
func isMalformed(err error) bool {
	_, malformed := errors.AsType[textproto.ProtocolError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	if malformed || plain {
		return true
	}
	for _, part := range []string{"malformed", "Content-Length", "transfer encoding", "headers exceeded",
		"HTTP response to HTTPS", "unexpected protocol", "unsupported protocol"} {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}
