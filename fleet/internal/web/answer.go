package web

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// CheckStatus returns the error of an answer that is no success. It has nothing of the
// answer's text, which may be any.
func CheckStatus(response *http.Response, now time.Time) error {
	code := response.StatusCode
	status := strings.TrimSpace(fmt.Sprintf("status %d %s", code, http.StatusText(code)))
	switch {
	case code == http.StatusPartialContent && response.Request.Header.Get("Range") != "":
		return checkLength(response)
	case code == http.StatusOK || code == http.StatusCreated || code == http.StatusAccepted || code == http.StatusNoContent:
		return CheckPage(response)
	case code == http.StatusNotFound || code == http.StatusGone:
		return fmt.Errorf("%w: %s", fleet.ErrNotFound, status)
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return fmt.Errorf("%w: %s (hint: %s)", fleet.ErrDenied, status, deniedHint)
	case code == http.StatusPreconditionFailed:
		return fmt.Errorf("%w: %s", fleet.ErrChanged, status)
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		return fmt.Errorf("%s: %w", status, &fleet.BusyError{RetryAfter: retryAfter(response, now)})
	case code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		return fmt.Errorf("%w: %w: %s (hint: the server has to allow %s here)",
			fleet.ErrProtocol, errors.ErrUnsupported, status, response.Request.Method)
	case code >= 500:
		return fmt.Errorf("%w: %s", fleet.ErrUnreachable, status)
	}
	if hint := statusHints[code]; hint != "" {
		status += " (hint: " + hint + ")"
	}
	return fmt.Errorf("%w: %s", fleet.ErrProtocol, status)
}

const deniedHint = "credentials come from the URL, SHADERCACHE_REMOTE_TOKEN, SHADERCACHE_REMOTE_USER and _PASSWORD, or ~/.netrc"

// statusHints are for statuses that a server's settings explain.
var statusHints = map[int]string{
	http.StatusBadRequest:            "a server that asks for a client certificate answers so: SHADERCACHE_REMOTE_CERT and _KEY",
	http.StatusConflict:              "the server has to make folders itself: create_full_put_path of nginx",
	http.StatusRequestEntityTooLarge: "the server's limit is lower: client_max_body_size of nginx",
}

// CheckPage refuses a web page: the answer of a captive portal, or of a login page, has the
// status of a success. nginx answers a PUT with a page of its own and status 201.
func CheckPage(response *http.Response) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode == http.StatusOK && (kind == "text/html" || kind == "application/xhtml+xml") {
		return fmt.Errorf("%w: a web page (hint: is there a login page or a captive portal in between?)", fleet.ErrProtocol)
	}
	return checkLength(response)
}

// checkLength refuses what a GET reads to the close of the connection: such an answer that was
// cut looks like an object that is damaged in the store, which a push replaces.
func checkLength(response *http.Response) error {
	if response.Request.Method == http.MethodGet && response.ProtoMajor < 2 && response.ContentLength < 0 && len(response.TransferEncoding) == 0 {
		return fmt.Errorf("%w: an answer of unknown length (hint: is a server or proxy in between that speaks HTTP/1.0?)", fleet.ErrProtocol)
	}
	return nil
}

// CheckObject refuses an answer to GET that is not the bytes of an object, from a byte on.
// It returns the size of the whole object, -1 for one that is unknown.
func CheckObject(response *http.Response, first int64) (size int64, err error) {
	if coding := response.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return 0, fmt.Errorf("%w: an object in another encoding (Content-Encoding)", fleet.ErrProtocol)
	}
	if first > 0 {
		return CheckRange(response.Header, response.ContentLength, first)
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%w: status %d for an object", fleet.ErrProtocol, response.StatusCode)
	}
	return response.ContentLength, nil
}

// RangeFrom returns the header Range for an object from a byte on.
func RangeFrom(first int64) string { return fmt.Sprintf("bytes=%d-", first) }

// CheckRange refuses an answer with other bytes than those that RangeFrom asks for. length
// is that of its body, -1 = unknown. It returns the size of the whole object.
func CheckRange(header http.Header, length, first int64) (size int64, err error) {
	has := header.Get("Content-Range")
	if has == "" {
		return 0, fmt.Errorf("%w: the server sends whole objects only", errors.ErrUnsupported)
	}
	var from, last int64
	_, err = fmt.Sscanf(has, "bytes %d-%d/%d", &from, &last, &size)
	if err != nil || from != first || last < first || last != size-1 || length >= 0 && length != size-first {
		return 0, fmt.Errorf("%w: the bytes %.40q of an object, and those from %d on are needed", fleet.ErrProtocol, has, first)
	}
	return size, nil
}

// StrongTag returns the entity tag of an answer. A weak one matches nothing, so it is none.
func StrongTag(response *http.Response) string {
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
