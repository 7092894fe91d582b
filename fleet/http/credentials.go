package http

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/fleet/internal/secret"
)

// credentials are a bearer token, or a user and a password, from the places that the
// package's documentation lists. Zero = none.
type credentials struct {
	token, user, password string
}

func findCredentials(u *url.URL, getenv func(string) string) (credentials, error) {
	if u.User != nil {
		if password, both := u.User.Password(); both {
			return credentials{user: u.User.Username(), password: password}, nil
		}
		return credentials{token: u.User.Username()}, nil
	}
	token, err := valueOf(getenv, "SHADERCACHE_REMOTE_TOKEN")
	if token != "" || err != nil {
		return credentials{token: token}, err
	}
	if user := getenv("SHADERCACHE_REMOTE_USER"); user != "" {
		password, err := valueOf(getenv, "SHADERCACHE_REMOTE_PASSWORD")
		return credentials{user: user, password: password}, err
	}
	return fromNetrc(u.Hostname(), getenv)
}

// valueOf returns the value of a variable, or the content of the file that <name>_FILE names.
func valueOf(getenv func(string) string, name string) (string, error) {
	value, file := getenv(name), getenv(name+"_FILE")
	if value != "" || file == "" {
		return value, nil
	}
	data, err := secret.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// fromNetrc returns the credentials of a host in the file of curl and git.
func fromNetrc(host string, getenv func(string) string) (credentials, error) {
	file := getenv("NETRC")
	if file == "" {
		home := getenv("HOME")
		if home == "" {
			return credentials{}, nil
		}
		file = filepath.Join(home, ".netrc")
	}
	data, err := secret.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return credentials{}, nil
	}
	if err != nil {
		return credentials{}, fmt.Errorf("netrc: %w", err)
	}
	return parseNetrc(string(data), host), nil
}

// parseNetrc returns the first entry for a host, or the default entry. Macros end it. As curl
// does, it skips lines that begin with #, and each word that it does not know.
func parseNetrc(text, host string) (found credentials) {
	var words []string
	for line := range strings.Lines(text) {
		if of := strings.Fields(line); len(of) > 0 && of[0][0] != '#' {
			words = append(words, of...)
		}
	}
	ours := false
	for i := 0; i < len(words); i++ {
		argument := ""
		if i+1 < len(words) {
			argument = words[i+1]
		}
		switch word := words[i]; {
		case (word == "machine" || word == "default") && ours, word == "macdef":
			return found
		case word == "machine":
			ours = argument == host
		case word == "login" && ours:
			found.user = argument
		case word == "password" && ours:
			found.password = argument
		case word != "login" && word != "password" && word != "account":
			ours = ours || word == "default"
			continue
		}
		i++
	}
	return found
}

// header returns the header Authorization; "" = none.
func (c credentials) header() string {
	switch {
	case c.token != "":
		return "Bearer " + c.token
	case c.user != "" || c.password != "":
		return "Basic " + c.basic()
	}
	return ""
}

func (c credentials) basic() string {
	return base64.StdEncoding.EncodeToString([]byte(c.user + ":" + c.password))
}

// secrets returns the texts that no error may have.
func (c credentials) secrets() []string {
	var texts []string
	if c.token != "" {
		texts = append(texts, c.token)
	}
	if c.password != "" {
		texts = append(texts, c.basic(), c.password)
	}
	return texts
}
