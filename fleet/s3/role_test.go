package s3

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/servers"
)

// metadata is the metadata service of an instance, in version 2 of its protocol: a token by
// PUT with its lifetime, which each GET has to send.
type metadata struct {
	accessKey, secretKey string
	lifetime             time.Duration // of the credentials
	broken               bool          // it answers 500

	mu    sync.Mutex
	asked []string
}

const (
	metadataToken = "token-of-the-instance"
	metadataRole  = "fleet-reader"
	rolePath      = "/latest/meta-data/iam/security-credentials/"
)

func (m *metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked = append(m.asked, r.Method+" "+r.URL.Path)
	m.mu.Unlock()
	if m.broken {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	if r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" {
		seconds, err := strconv.Atoi(r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds"))
		if err != nil || seconds < 1 || seconds > 21600 || r.Header.Get("X-Forwarded-For") != "" {
			http.Error(w, "no lifetime", http.StatusBadRequest)
			return
		}
		w.Write([]byte(metadataToken))
		return
	}
	if r.Header.Get("X-aws-ec2-metadata-token") != metadataToken {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	switch {
	case r.Method == http.MethodGet && strings.TrimSuffix(r.URL.Path, "/")+"/" == rolePath:
		w.Write([]byte(metadataRole))
	case r.Method == http.MethodGet && r.URL.Path == rolePath+metadataRole:
		json.NewEncoder(w).Encode(map[string]string{
			"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": m.accessKey, "SecretAccessKey": m.secretKey, "Token": "",
			"LastUpdated": time.Now().UTC().Format(time.RFC3339), "Expiration": time.Now().Add(m.lifetime).UTC().Format(time.RFC3339),
		})
	default:
		http.NotFound(w, r)
	}
}

func (m *metadata) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.asked
	m.asked = nil
	return asked
}

// The role of an instance reads and writes, and its credentials are fetched once.
func TestRoleOfAnInstance(t *testing.T) {
	t.Parallel()
	s := servers.StartS3(t)
	service := &metadata{accessKey: s.AccessKey, secretKey: s.SecretKey, lifetime: 6 * time.Hour}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	b := openWith(t, s.URL, map[string]string{
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL, "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
	})
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	put := fleet.PutOptions{Size: 4}
	if _, err := b.Put(t.Context(), "v1/0123/head", strings.NewReader("head"), put); err != nil {
		t.Fatal(err)
	}
	o, err := b.Get(t.Context(), "v1/0123/head", 0)
	if err != nil {
		t.Fatal(err)
	}
	o.Body.Close()
	asked := service.requests()
	if len(asked) != 3 || asked[0] != "PUT /latest/api/token" || asked[2] != "GET "+rolePath+metadataRole {
		t.Errorf("the service was asked %q", asked)
	}
}

// Credentials that the store does not know, and a service that fails, are errors without
// secrets, and not misses.
func TestRoleThatDoesNotWork(t *testing.T) {
	t.Parallel()
	s := servers.StartS3(t)
	const secret = "swordfish-77"
	for name, service := range map[string]*metadata{
		"OtherKeys": {accessKey: s.AccessKey, secretKey: secret, lifetime: time.Hour},
		"Broken":    {broken: true},
	} {
		server := httptest.NewServer(service)
		t.Cleanup(server.Close)
		b := openWith(t, s.URL, map[string]string{
			"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL, "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
		})
		_, err := b.Get(t.Context(), "v1/0123/head", 0)
		if service.broken && !strings.Contains(fmt.Sprint(err), "AWS_ACCESS_KEY_ID") {
			t.Errorf("no hint: %v", err)
		}
		if !errors.Is(err, fleet.ErrDenied) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), metadataToken) {
			t.Errorf("%s: %v, not ErrDenied", name, err)
		}
	}
}

// A service that answers without an end is not read to it.
func TestServiceWithoutAnEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, err := w.Write(make([]byte, 1<<16)); err == nil; _, err = w.Write(make([]byte, 1<<16)) {
		}
	}))
	defer server.Close()
	for of, tokenFile := range map[string]string{"a metadata service": "", "an exchange of tokens": "token"} {
		getenv := func(name string) string { return map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": tokenFile}[name] }
		response, err := role(getenv, &http.Transport{DisableKeepAlives: true}).Client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, response.Body)
		if response.Body.Close(); n != maxRoleBytes || err == nil {
			t.Errorf("%s: %d bytes were read, %v", of, n, err)
		}
	}
}

// silent is a provider that has nothing until it is asked often enough.
type silent struct{ asked, answers int }

func (s *silent) Retrieve() (credentials.Value, error) { return s.RetrieveWithCredContext(nil) }

func (s *silent) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	if s.asked++; s.asked < s.answers {
		return credentials.Value{}, errors.New("no answer within a second")
	}
	return credentials.Value{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
}

func (s *silent) IsExpired() bool { return false }

// Where there is no role after all, not each request waits for the metadata service. One that fails
// once is asked again, and after a minute each.
func TestServiceThatHasNoRole(t *testing.T) {
	for answers, want := range map[int]int{1: 1, 2: 2, 3: 2} {
		synctest.Test(t, func(t *testing.T) {
			s := &silent{answers: answers}
			c := credentials.New(&chain{Chain: credentials.Chain{Providers: []credentials.Provider{s}}})
			get := func() (found bool) {
				value, err := c.GetWithContext(nil)
				if err != nil {
					t.Error(err)
				}
				return value.AccessKeyID != ""
			}
			for range 5 {
				get()
			}
			if s.asked != want || get() != (answers < 3) {
				t.Errorf("it has something at question %d: it was asked %d times, want %d", answers, s.asked, want)
			}
			time.Sleep(2 * time.Minute)
			if !get() {
				t.Errorf("two minutes later it is not asked again: %d times", s.asked)
			}
		})
	}
}

// exchange answers to the exchange of a token.
type exchange struct{ hosts []string }

func (e *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	e.hosts = append(e.hosts, r.URL.Host)
	text := `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>` +
		`<AccessKeyId>key</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><Expiration>2100-01-01T00:00:00Z</Expiration>` +
		`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// A token is exchanged at a host that is as far as the store: by the same proxy, with the same
// certificates. A metadata service is asked without them.
func TestTokenIsExchangedAsStoresAreAsked(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::1:role/x", "AWS_REGION": "eu-central-1"}
	for name, value := range env {
		t.Setenv(name, value) // which the library reads
	}
	e := &exchange{}
	r := role(func(name string) string { return env[name] }, e)
	if r.Client.Timeout < 2*roleTimeout {
		t.Errorf("it has %v", r.Client.Timeout)
	}
	if value, err := r.RetrieveWithCredContext(nil); err != nil || value.AccessKeyID != "key" || !slices.Equal(e.hosts, []string{"sts.eu-central-1.amazonaws.com"}) {
		t.Errorf("%+v, %v, by the proxy: %q", value, err, e.hosts)
	}
	if r := role(func(string) string { return "" }, e); r.Client.Transport == (short{e}) {
		t.Error("a metadata service is asked by a proxy")
	}
}

// The role of a container comes from whom the environment names, with the token that it has, also
// where it names a metadata service.
func TestRoleOfAContainer(t *testing.T) {
	s := servers.StartS3(t)
	const token = "token-of-the-container"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != token || r.URL.Path != "/role" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{
			"AccessKeyId": s.AccessKey, "SecretAccessKey": s.SecretKey, "Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		})
	}))
	t.Cleanup(server.Close)
	env := map[string]string{
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/role", "AWS_CONTAINER_AUTHORIZATION_TOKEN": token,
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL, "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
	}
	for name, value := range env {
		t.Setenv(name, value) // which the library reads
	}
	b := openWith(t, s.URL, env)
	if _, err := b.Get(t.Context(), "v1/0123/head", 0); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("%v, not ErrNotFound", err)
	}
}
