// Package http keeps a remote on a web server with GET, HEAD and PUT, such as nginx with
// DAV or a cache of build results. Importing it makes http and https URLs work:
//
//	https://host/prefix
//
// Credentials and certificates go to the host of the URL only. Of the credentials the first
// that is there is used:
//
//	user and password of the URL; a user without a password is a token
//	SHADERCACHE_REMOTE_TOKEN, or the file SHADERCACHE_REMOTE_TOKEN_FILE
//	SHADERCACHE_REMOTE_USER with SHADERCACHE_REMOTE_PASSWORD or SHADERCACHE_REMOTE_PASSWORD_FILE
//	the entry of the URL's host in $NETRC, else ~/.netrc
//
// Certificates:
//
//	SHADERCACHE_REMOTE_CA    PEM file: certificates to trust in place of the system's
//	SHADERCACHE_REMOTE_CERT  PEM file: client certificate
//	SHADERCACHE_REMOTE_KEY   PEM file: its key
//
// Heads are changed by compare-and-swap where the server honours If-Match and If-None-Match,
// which the package finds out by a probe before the first conditional write. It lists where
// the server does so in nginx's JSON form (autoindex_format json).
package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/probe"
	"github.com/shadercache/shadercache/fleet/internal/secret"
	"github.com/shadercache/shadercache/fleet/internal/web"
)

func init() {
	fleet.Register("http", openURL)
	fleet.Register("https", openURL)
}

// expectAbove is the size from which a PUT asks before it sends its body, so that a refusal
// does not arrive as a connection that is reset.
const expectAbove = 64 << 10

// backend is a web server. It is a probe.Store.
type backend struct {
	base          *url.URL // without credentials
	authorization string   // header; "" = none
	secrets       secret.Texts
	agent         string
	transport     *web.Transport
	client        *http.Client
}

// openURL opens the backend for a URL. It returns an error for settings that cannot work, such
// as a file of certificates that cannot be read. It does not use the network.
func openURL(u *url.URL, o fleet.BackendOptions) (fleet.Backend, error) {
	b, err := open(u, o)
	if err != nil {
		return nil, fmt.Errorf("remote/http: %w", err)
	}
	return probe.Backend(b), nil
}

func open(u *url.URL, o fleet.BackendOptions) (*backend, error) {
	if u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the URL has to be like https://host/prefix, without ? and #")
	}
	base := *u
	base.User = nil
	credentials, err := findCredentials(u, o.Getenv)
	if err != nil {
		return nil, err
	}
	transport, err := web.NewTransport(o.Getenv)
	if err != nil {
		return nil, err
	}
	b := &backend{base: &base, agent: o.UserAgent, authorization: credentials.header(), transport: transport}
	b.secrets.Add(credentials.secrets()...)
	b.client = &http.Client{Transport: transport, CheckRedirect: web.SameHost}
	return b, nil
}

// Connect makes a connection.
func (b *backend) Connect(ctx context.Context) error {
	if err := b.transport.Connect(ctx, b.base); err != nil {
		return b.secrets.Clean(fmt.Errorf("remote/http: connect to %s: %w", b.base, web.Classify(ctx, err)))
	}
	return nil
}

// Get opens an object from a byte on.
func (b *backend) Get(ctx context.Context, name string, first int64) (*fleet.Object, error) {
	header := http.Header{}
	if first > 0 {
		header.Set("Range", web.RangeFrom(first))
	}
	response, err := b.ask(ctx, http.MethodGet, name, header, nil)
	if err != nil {
		return nil, err
	}
	size, err := web.CheckObject(response, first)
	if err != nil {
		response.Body.Close()
		return nil, b.failed(http.MethodGet, name, err)
	}
	failed := func(err error) error { return b.failed(http.MethodGet, name, err) }
	body := &web.Body{ReadCloser: response.Body, Failed: failed}
	clock, _ := http.ParseTime(response.Header.Get("Date")) // zero = unknown
	return &fleet.Object{Body: body, Size: size, Tag: web.StrongTag(response), Clock: clock}, nil
}

// Put writes an object, and sends a condition in any case.
func (b *backend) Put(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error) {
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	if o.IfAbsent {
		header.Set("If-None-Match", "*")
	}
	if o.IfTag != "" {
		header.Set("If-Match", o.IfTag)
	}
	if o.Size > expectAbove {
		header.Set("Expect", "100-continue")
	}
	upload := web.NewUpload(ctx, data, o.Size)
	defer upload.Detach()
	response, err := b.ask(ctx, http.MethodPut, name, header, upload)
	if err != nil {
		return "", err
	}
	return web.StrongTag(response), response.Body.Close()
}

// Delete deletes an object. It returns errors.ErrUnsupported, wrapped, where the server
// cannot.
func (b *backend) Delete(ctx context.Context, name string) error {
	response, err := b.ask(ctx, http.MethodDelete, name, nil, nil)
	if errors.Is(err, fleet.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Close closes idle connections.
func (b *backend) Close() error {
	b.client.CloseIdleConnections()
	return nil
}

// ask sends a request and returns an answer that is a success.
func (b *backend) ask(ctx context.Context, method, name string, header http.Header, body *web.Upload) (*http.Response, error) {
	response, err := b.send(ctx, method, name, header, body)
	if err != nil {
		return nil, err
	}
	if err := web.CheckStatus(response, time.Now()); err != nil {
		response.Body.Close()
		return nil, b.failed(method, name, err)
	}
	return response, nil
}

// send sends a request and returns its answer, whatever it is.
func (b *backend) send(ctx context.Context, method, name string, header http.Header, body *web.Upload) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, b.at(name).String(), nil)
	if err != nil {
		return nil, b.failed(method, name, err)
	}
	for key, values := range header {
		request.Header[key] = values
	}
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("Cache-Control", "no-cache") // heads and lists of keys change
	if b.agent != "" {
		request.Header.Set("User-Agent", b.agent)
	}
	if b.authorization != "" {
		request.Header.Set("Authorization", b.authorization)
	}
	if body != nil {
		if err := body.Attach(request); err != nil {
			return nil, b.failed(method, name, err)
		}
	}
	response, err := b.client.Do(request)
	if err != nil {
		if response != nil { // a redirect that was not followed
			response.Body.Close()
		}
		return nil, b.failed(method, name, web.Classify(ctx, err))
	}
	return response, nil
}

// at returns the URL of an object or folder. Names are not escaped: one of a listing may have
// any character.
func (b *backend) at(name string) *url.URL {
	return b.base.JoinPath(strings.ReplaceAll(url.PathEscape(name), "%2F", "/"))
}

// failed returns an error that names the request, without credentials.
func (b *backend) failed(method, name string, err error) error {
	return b.secrets.Clean(fmt.Errorf("remote/http: %s %s: %w", method, b.at(name), err))
}
