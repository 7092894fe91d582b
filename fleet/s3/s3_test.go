package s3

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/servers"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	s := servers.StartS3(t)
	inURL := *s.URL
	inURL.User = url.UserPassword(s.AccessKey, s.SecretKey)
	profile := filepath.Join(t.TempDir(), "credentials")
	text := "[fleet]\naws_access_key_id = " + s.AccessKey + "\naws_secret_access_key = " + s.SecretKey + "\n"
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	other := *s.URL
	other.Host = "no-such-bucket"
	for _, c := range []struct {
		name      string
		url       *url.URL
		variables map[string]string
		want      error
	}{
		{"Environment", s.URL, keys(s), fleet.ErrNotFound}, // let in
		{"URL", &inURL, nil, fleet.ErrNotFound},
		{"File", s.URL, map[string]string{"AWS_SHARED_CREDENTIALS_FILE": profile, "AWS_PROFILE": "fleet"}, fleet.ErrNotFound},
		{"Bucket", &other, keys(s), fleet.ErrNotFound},
		{"None", s.URL, map[string]string{"AWS_SHARED_CREDENTIALS_FILE": profile + ".none"}, fleet.ErrDenied},
		{"WrongSecret", s.URL, map[string]string{"AWS_ACCESS_KEY_ID": s.AccessKey, "AWS_SECRET_ACCESS_KEY": "swordfish-77"}, fleet.ErrDenied},
		{"UnknownKey", s.URL, map[string]string{"AWS_ACCESS_KEY_ID": "other", "AWS_SECRET_ACCESS_KEY": "swordfish-77"}, fleet.ErrDenied},
	} {
		_, err := openWith(t, c.url, c.variables).Get(t.Context(), "v1/0123/head", 0)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), s.SecretKey) || strings.Contains(err.Error(), "swordfish")) {
			t.Errorf("%s: the error has a secret: %v", c.name, err)
		}
	}
}

// A token of a file, or of a role, is sent with each request. A server may send it back.
func TestATokenThatIsSentBackIsInNoError(t *testing.T) {
	t.Parallel()
	const token = "swordfish-77"
	profile := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = " + token + "\n"
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var sent atomic.Value
	server := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
		sent.Store(r.Header.Get("X-Amz-Security-Token"))
		io.WriteString(c, "HTTP/1.1 200 OK\r\n"+r.Header.Get("X-Amz-Security-Token")+" and no colon\r\n\r\n")
	})
	u := &url.URL{Scheme: "s3", Host: "bucket", RawQuery: "endpoint=http://" + server.Address}
	_, err := openWith(t, u, map[string]string{"AWS_SHARED_CREDENTIALS_FILE": profile}).Get(t.Context(), "v1/0123/head", 0)
	if !errors.Is(err, fleet.ErrProtocol) || strings.Contains(err.Error(), token) || sent.Load() != token {
		t.Errorf("%q was sent: %v", sent.Load(), err)
	}
}

// Only a machine of Amazon, or one whose environment names a service, is asked for a role:
// elsewhere the address does not answer.
func TestRoleIsAskedForWhereItCanBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, text)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	amazon, other, none := file("Amazon EC2"), file("Dell Inc."), filepath.Join(dir, "none")
	for _, c := range []struct {
		vendor, variable, value string
		want                    bool
	}{
		{amazon, "", "", true},
		{other, "", "", false},
		{none, "", "", false},
		{amazon, "AWS_EC2_METADATA_DISABLED", "true", false},
		{none, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials", true},
		{none, "AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token", true},
	} {
		getenv := func(name string) string { return map[string]string{c.variable: c.value}[name] }
		if got := hasRole(getenv, c.vendor); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"s3://", "s3:///prefix", "s3://bucket?endpoint=host:9000", "s3://bucket?endpoint=https://host/path",
		"s3://bucket?endpoint=https://user:password@host", "s3://bucket?path-style=maybe", "s3://bucket?zone=1",
	} {
		u, err := url.Parse(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openURL(u, fleet.BackendOptions{Getenv: os.Getenv}); err == nil || strings.Contains(err.Error(), "password") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	variables := map[string]string{"AWS_DEFAULT_REGION": "eu-north-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}
	s, err := readSettings(url.Values{}, func(name string) string { return variables[name] })
	if err != nil || s.region != "eu-north-1" || s.endpoint.Host != "127.0.0.1:9000" {
		t.Errorf("%+v, %v", s, err)
	}
}
