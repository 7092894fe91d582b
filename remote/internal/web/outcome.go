package web

import (
	"context"
	"net/http"
	"time"
)

// Checked is a transport for libraries that have errors of their own: it makes each answer
// that is no success an error of package remote. Libraries wrap errors in ways that lose
// them, so Outcome has the last one.
type Checked struct {
	Base http.RoundTripper
	// Pass reports whether the library needs an answer as it is, such as a challenge.
	Pass func(*http.Response) bool
	// Explain, which may be nil, returns the error of an answer that is no success.
	Explain func(*http.Response) error
}

// Outcome has the error of the last request of a context.
type Outcome struct {
	Err  error
	Stop func() // called with an error, for a library that then waits; may be nil
}

type outcomeKey struct{}

// WithOutcome returns a context whose requests set an Outcome. They are not concurrent.
func WithOutcome(ctx context.Context) (context.Context, *Outcome) {
	o := &Outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// RoundTrip sends a request.
func (c *Checked) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.check(request)
	if o, ok := request.Context().Value(outcomeKey{}).(*Outcome); ok {
		o.Err = err
		if err != nil && o.Stop != nil {
			o.Stop()
		}
	}
	return response, err
}

func (c *Checked) check(request *http.Request) (*http.Response, error) {
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
