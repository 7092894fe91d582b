// Package secret takes credentials out of errors.
package secret

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Texts are what no error may have: a server knows the credentials of a request, and can put
// them into its answer, which errors quote. The zero value has none.
type Texts struct {
	mu    sync.Mutex
	texts []string
}

// Redacted is what an error has in their place.
const Redacted = "xxxxx"

// maxSecrets is far above what is valid at the same time: a token has a successor each few
// minutes.
const maxSecrets = 32

// Add adds texts.
func (s *Texts) Add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if text == "" || slices.Contains(s.texts, text) {
			continue
		}
		s.texts = append(s.texts[max(0, len(s.texts)-maxSecrets+1):], text)
	}
}

// query is that of a URL: a server may redirect to one that is signed by it.
var query = regexp.MustCompile(`(https?://[^\s"?]+\?)[^\s"]+`)

// Clean returns an error without the secrets in its text, and the queries of URLs, which errors.Is
// and errors.As treat like the original.
func (s *Texts) Clean(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clean := query.ReplaceAllString(err.Error(), "${1}"+Redacted)
	for _, secret := range s.texts {
		clean = strings.ReplaceAll(clean, secret, Redacted)
		clean = strings.ReplaceAll(clean, strings.Trim(strconv.Quote(secret), `"`), Redacted)
	}
	if clean == err.Error() {
		return err
	}
	return &cleanError{clean, err}
}

// cleanError has another text than its cause. It does not unwrap, which would show that.
type cleanError struct {
	text  string
	cause error
}

func (e *cleanError) Error() string        { return e.text }
func (e *cleanError) Is(target error) bool { return errors.Is(e.cause, target) }
func (e *cleanError) As(target any) bool   { return errors.As(e.cause, target) }
