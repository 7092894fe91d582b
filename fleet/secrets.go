package fleet

import (
	"errors"
	"net/url"
	"strings"
)

// secrets are the credentials of a URL, which no message shows.
type secrets struct {
	url   string // without them
	texts []string
}

const (
	redacted = "xxxxx"
	minToken = 8 // bytes: no shorter text is a token, and short ones are in many messages
)

// redact returns a URL without user, password and query. A query may have a signature. Of one
// without a host, as of https:user:password@host, everything may be a password.
func redact(u *url.URL) string {
	clean := *u
	if u.Host == "" && strings.Contains(u.String(), "@") && u.Scheme != "file" {
		return u.Scheme + ":" + redacted
	}
	clean.User, clean.RawQuery, clean.ForceQuery, clean.Fragment = nil, "", false, ""
	return clean.String()
}

func secretsOf(u *url.URL) secrets {
	s := secrets{url: redact(u)}
	add := func(text string) {
		if text != "" {
			s.texts = append(s.texts, text, url.QueryEscape(text), url.PathEscape(text))
		}
	}
	if u.User != nil {
		s.texts = append(s.texts, u.User.String()+"@")
		password, _ := u.User.Password()
		add(password)
		if name := u.User.Username(); password == "" && len(name) >= minToken {
			add(name) // a token
		}
	}
	add(u.RawQuery)
	for name, values := range u.Query() {
		for _, v := range values {
			if len(v) >= minToken || strings.Contains(strings.ToLower(name), "key") {
				add(v)
			}
		}
	}
	return s
}

// cleanText returns a text without the credentials.
func (s secrets) cleanText(text string) string {
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

// clean returns an error whose text has no credentials.
func (s secrets) clean(err error) error {
	if err == nil || s.cleanText(err.Error()) == err.Error() {
		return err
	}
	return &cleanError{s.cleanText(err.Error()), err}
}

// cleanError is an error with another text.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }

// Is and As keep the meaning of the error. There is no Unwrap, which would show the text.
func (e *cleanError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *cleanError) As(target any) bool   { return errors.As(e.err, target) }
