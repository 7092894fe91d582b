package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/secret"
)

// Checked is a transport for libraries that have errors of their own: it makes each answer
// that is no success an error of package fleet. Libraries wrap errors in ways that lose
// them, so Outcome has the last one.
type Checked struct {
	Base http.RoundTripper
	// Secrets gets the credentials of the requests.
	Secrets *secret.Texts
	// Refuse, which may be nil, returns the error of a request that is not sent.
	Refuse func(*http.Request) error
	// Pass reports whether the library needs an answer as it is, such as a challenge.
	Pass func(*http.Response) bool
	// Explain, which may be nil, returns the error of an answer that is no success.
	Explain func(*http.Response) error
}

// Outcome has what the last request of a context came to.
type Outcome struct {
	Err   error
	Clock time.Time // of the server; zero = unknown
	Stop  func()    // called with an error, for a library that then waits; may be nil

	listing bool // see Listing
	pages   int
	page    int64 // bytes of the last one
	bytes   int64
}

// What a listing may have: a page has at most 1000 names, of at most 200 bytes each and some
// hundred around it.
const (
	maxPages        = 1000
	maxPageBytes    = 4 << 20
	MaxListingBytes = 64 << 20
)

// Listing bounds the pages and the bytes that the requests of a context read. It is for
// clients that read as many as the store has.
func Listing(ctx context.Context) {
	ctx.Value(outcomeKey{}).(*Outcome).listing = true
}

// Clock returns the clock of the server as the last request of a context has it.
func Clock(ctx context.Context) time.Time { return ctx.Value(outcomeKey{}).(*Outcome).Clock }

// refuse returns the error of a listing that has more than it may have.
func (o *Outcome) refuse() error {
	if !o.listing || o.pages <= maxPages && o.page <= maxPageBytes && o.bytes <= MaxListingBytes {
		return nil
	}
	o.Err = fmt.Errorf("%w: a listing of %d pages and %d bytes, %d in the last page: at most %d, %d and %d are possible",
		fleet.ErrProtocol, o.pages, o.bytes, o.page, maxPages, MaxListingBytes, maxPageBytes)
	return o.Err
}

// page is the body of a page of a listing.
type page struct {
	io.ReadCloser
	of *Outcome
}

func (p *page) Read(data []byte) (int, error) {
	n, err := p.ReadCloser.Read(data)
	p.of.page += int64(n)
	p.of.bytes += int64(n)
	if refused := p.of.refuse(); refused != nil {
		err = refused
	}
	return n, err
}

type outcomeKey struct{}

// WithOutcome returns a context whose requests set an Outcome. They are not concurrent.
func WithOutcome(ctx context.Context) (context.Context, *Outcome) {
	o := &Outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// RoundTrip sends a request.
func (c *Checked) RoundTrip(request *http.Request) (*http.Response, error) {
	o, ok := request.Context().Value(outcomeKey{}).(*Outcome)
	if !ok {
		return c.check(request)
	}
	o.pages++
	o.page = 0
	response, err := (*http.Response)(nil), o.refuse()
	if err == nil {
		response, err = c.check(request)
	}
	if o.Err = err; err == nil {
		o.Clock, _ = http.ParseTime(response.Header.Get("Date"))
	}
	if err == nil && o.listing {
		fleet.Answered(request.Context())
		response.Body = &page{response.Body, o}
	}
	if err != nil && o.Stop != nil {
		o.Stop()
	}
	return response, err
}

func (c *Checked) check(request *http.Request) (*http.Response, error) {
	if c.Refuse != nil {
		if err := c.Refuse(request); err != nil {
			return nil, err
		}
	}
	addSent(c.Secrets, request)
	response, err := c.Base.RoundTrip(request)
	if err != nil {
		return nil, Classify(request.Context(), err)
	}
	response.Request = request
	if c.Pass != nil && c.Pass(response) {
		return response, nil
	}
	if c.Explain != nil {
		err = c.Explain(response)
	}
	if err == nil {
		err = CheckStatus(response, time.Now())
	}
	if err != nil {
		response.Body.Close()
		return nil, err
	}
	return response, nil
}

// addSent adds the credentials of a request.
func addSent(secrets *secret.Texts, request *http.Request) {
	kind, value, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if kind == "Basic" || kind == "Bearer" {
		_, password, _ := request.BasicAuth()
		secrets.Add(value, password)
	}
	secrets.Add(request.Header.Get("X-Amz-Security-Token"))
}
