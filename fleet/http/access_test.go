package http_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	backend "github.com/shadercache/shadercache/fleet/http"
	"github.com/shadercache/shadercache/internal/servers"
)

func put(t *testing.T, b fleet.Backend) error {
	_, err := b.Put(t.Context(), object, bytes.NewReader([]byte("a head")), fleet.PutOptions{Size: 6})
	return err
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each way to give credentials works with nginx, and none gives ErrDenied.
func TestBasicCredentials(t *testing.T) {
	t.Parallel()
	const user, password = "ci", "pass word/&%"
	n := servers.StartNginx(t, servers.NginxOptions{User: user, Password: password, ReadersToo: true})
	withUser := *n.URL
	withUser.User = url.UserPassword(user, password)
	home := t.TempDir()
	netrc := "machine elsewhere login x password y\nmachine " + n.URL.Hostname() + "\n login ci\n password hunter22\n"
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte(netrc), 0o600); err != nil {
		t.Fatal(err)
	}
	simple := servers.StartNginx(t, servers.NginxOptions{User: user, Password: "hunter22", ReadersToo: true})
	for _, c := range []struct {
		name      string
		url       *url.URL
		variables map[string]string
		want      error
	}{
		{"URL", &withUser, nil, nil},
		{"Environment", n.URL, map[string]string{"SHADERCACHE_REMOTE_USER": user, "SHADERCACHE_REMOTE_PASSWORD": password}, nil},
		{"File", n.URL, map[string]string{"SHADERCACHE_REMOTE_USER": user, "SHADERCACHE_REMOTE_PASSWORD_FILE": file(t, password+"\n")}, nil},
		{"Netrc", simple.URL, map[string]string{"HOME": home}, nil},
		{"None", n.URL, nil, fleet.ErrDenied},
		{"OtherHostOfNetrc", simple.URL, map[string]string{"NETRC": file(t, "machine elsewhere login ci password hunter22")}, fleet.ErrDenied},
		{"Wrong", n.URL, map[string]string{"SHADERCACHE_REMOTE_USER": user, "SHADERCACHE_REMOTE_PASSWORD": "hunter22"}, fleet.ErrDenied},
	} {
		err := put(t, open(t, c.url, c.variables))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: the error has the password: %v", c.name, err)
		}
	}
}

// The example lets all read, and only its user write.
func TestNginxExampleLetsAllRead(t *testing.T) {
	t.Parallel()
	n := servers.StartNginx(t, servers.NginxOptions{User: "ci", Password: "hunter22"})
	writer := open(t, n.URL, map[string]string{"SHADERCACHE_REMOTE_USER": "ci", "SHADERCACHE_REMOTE_PASSWORD": "hunter22"})
	if err := put(t, writer); err != nil {
		t.Fatal(err)
	}
	reader := open(t, n.URL, nil)
	if got, err := get(t.Context(), reader); err != nil || string(got) != "a head" {
		t.Errorf("%q, %v", got, err)
	}
	if err := put(t, reader); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("%v, not ErrDenied", err)
	}
	large := make([]byte, 8<<20) // refused before it is sent, and not by a reset
	_, err := reader.Put(t.Context(), object, bytes.NewReader(large), fleet.PutOptions{Size: int64(len(large))})
	if !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("%v, not ErrDenied", err)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	ours, other := servers.NewCertificates(t), servers.NewCertificates(t)
	n := servers.StartNginx(t, servers.NginxOptions{TLS: &ours, ClientCert: true})
	for _, c := range []struct {
		name          string
		ca, cert, key string
		want          error
	}{
		{"All", ours.CA, ours.ClientCert, ours.ClientKey, nil},
		{"UnknownServer", "", ours.ClientCert, ours.ClientKey, fleet.ErrProtocol},
		{"OtherAuthority", other.CA, ours.ClientCert, ours.ClientKey, fleet.ErrProtocol},
		{"NoClient", ours.CA, "", "", fleet.ErrProtocol},
		{"OtherClient", ours.CA, other.ClientCert, other.ClientKey, fleet.ErrProtocol},
	} {
		err := put(t, open(t, n.URL, map[string]string{
			"SHADERCACHE_REMOTE_CA": c.ca, "SHADERCACHE_REMOTE_CERT": c.cert, "SHADERCACHE_REMOTE_KEY": c.key,
		}))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: no hint: %v", c.name, err)
		}
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for name, variables := range map[string]map[string]string{
		"no such CA":          {"SHADERCACHE_REMOTE_CA": missing},
		"a CA that is none":   {"SHADERCACHE_REMOTE_CA": file(t, "text")},
		"a CERT without KEY":  {"SHADERCACHE_REMOTE_CERT": missing},
		"no such PASSWORD":    {"SHADERCACHE_REMOTE_USER": "ci", "SHADERCACHE_REMOTE_PASSWORD_FILE": missing},
		"no such TOKEN":       {"SHADERCACHE_REMOTE_TOKEN_FILE": missing},
		"a CERT that is none": {"SHADERCACHE_REMOTE_CERT": file(t, "text"), "SHADERCACHE_REMOTE_KEY": file(t, "text")},
	} {
		_, err := backend.Open(&url.URL{Scheme: "https", Host: "host"}, fleet.BackendOptions{
			Getenv: func(name string) string { return variables[name] },
		})
		if err == nil || !strings.Contains(err.Error(), "SHADERCACHE_REMOTE_") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Credentials do not follow a redirect, not even to another port of the same machine.
func TestRedirectKeepsCredentials(t *testing.T) {
	t.Parallel()
	var followed, had atomic.Bool
	thief := servers.StartLiar(t, func(_ net.Conn, r *http.Request, _ <-chan struct{}) {
		followed.Store(true)
		had.Store(r.Header.Get("Authorization") != "")
	})
	for _, status := range []string{"301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"} {
		server := servers.StartLiar(t, func(c net.Conn, _ *http.Request, _ <-chan struct{}) {
			c.Write([]byte("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\nLocation: http://" + thief.Address + "/\r\n\r\n"))
		})
		b := open(t, &url.URL{Scheme: "http", Host: server.Address}, map[string]string{"SHADERCACHE_REMOTE_TOKEN": "abc"})
		if _, err := get(t.Context(), b); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("get, %s: %v, not ErrProtocol", status, err)
		}
		if err := put(t, b); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("put, %s: %v, not ErrProtocol", status, err)
		}
	}
	if followed.Load() || had.Load() {
		t.Errorf("followed: %v, with credentials: %v", followed.Load(), had.Load())
	}
}

func get(ctx context.Context, b fleet.Backend) ([]byte, error) {
	o, err := b.Get(ctx, object, 0)
	if err != nil {
		return nil, err
	}
	defer o.Body.Close()
	return io.ReadAll(o.Body)
}

// A listing has names as they are: one with an escape in it is no other object's, so that a
// prune, which may delete anything, does not delete what the writer of that name may not.
func TestNamesAreNotUnescaped(t *testing.T) {
	t.Parallel()
	b := open(t, servers.StartNginx(t, servers.NginxOptions{}).URL, nil)
	put := func(name string) {
		if _, err := b.Put(t.Context(), name, strings.NewReader("x"), fleet.PutOptions{Size: 1}); err != nil {
			t.Fatal(err)
		}
	}
	put("v1/other")
	for _, name := range []string{"v1/a/%2e%2e%2fother", "v1/a/%2e%2e/other", "v1/other?x", "v1/other#x"} {
		if err := b.Delete(t.Context(), name); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
		if o, err := b.Get(t.Context(), "v1/other", 0); err != nil {
			t.Errorf("delete %s deleted another object: %v", name, err)
			put("v1/other")
		} else {
			o.Body.Close()
		}
		put(name)
		found, err := b.List(t.Context(), "v1/")
		if err != nil || !slices.ContainsFunc(found, func(i fleet.Info) bool { return i.Name == name }) {
			t.Errorf("%s is not listed: %v, %v", name, found, err)
		}
	}
}
