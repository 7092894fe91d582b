package local

import (
	"context"
	"errors"
)

// kindError is an error that also matches one of package job.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// kind is an error of package job for one of another package.
type kind struct{ of, is error }

// withKind returns err so that it matches the kind of the first entry that it matches, or
// otherwise, which may be nil.
func withKind(err error, kinds []kind, otherwise error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	for _, k := range kinds {
		if errors.Is(err, k.of) {
			return &kindError{k.is, err}
		}
	}
	if otherwise != nil {
		return &kindError{otherwise, err}
	}
	return err
}
