package fleet

import (
	"net/url"
	"strings"

	"github.com/shadercache/shadercache/fleet/internal/secret"
)

// secrets are the credentials of a URL, which no message shows.
type secrets struct {
	*secret.Texts
	url string // without them
}

// minToken is in bytes: no shorter text is a token, and short ones are in many messages.
const minToken = 8

// ShownURL returns the URL of a remote without credentials.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a URL that cannot be parsed"
	}
	return redact(u)
}

// redact returns a URL without user, password, query and fragment. A query may have a signature. Of one
// without a host, as of https:user:password@host, everything may be a password.
func redact(u *url.URL) string {
	clean := *u
	if u.Host == "" && strings.Contains(u.String(), "@") && u.Scheme != "file" {
		return secret.Redacted
	}
	clean.User, clean.RawQuery, clean.ForceQuery, clean.Fragment = nil, "", false, ""
	return clean.String()
}

func secretsOf(u *url.URL) secrets {
	s := secrets{&secret.Texts{}, redact(u)}
	add := func(text string) {
		if text != "" {
			s.Add(text, url.QueryEscape(text), url.PathEscape(text))
		}
	}
	if u.User != nil {
		s.Add(u.User.String() + "@")
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
