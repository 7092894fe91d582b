package oci

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

// reply is an answer of a registry; code 0 = 200.
type reply struct {
	code   int
	header http.Header
	body   []byte
	length int64 // that is claimed; 0 = that of the body, -1 = none
}

// hostile starts a registry with an answer for each request, and returns a backend with
// credentials for it.
func hostile(t *testing.T, answer func(r *http.Request) reply) (*servers.Liar, *backend) {
	t.Helper()
	registry := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
		a := answer(r)
		if a.header == nil {
			a.header = http.Header{"Content-Type": {ocispec.MediaTypeImageManifest}}
		}
		if a.length == 0 {
			a.length = int64(len(a.body))
		}
		if a.code == 0 {
			a.code = http.StatusOK
		}
		fmt.Fprintf(c, "HTTP/1.1 %d X\r\n", a.code)
		if a.length > 0 || len(a.body) == 0 {
			fmt.Fprintf(c, "Content-Length: %d\r\n", max(a.length, 0))
		}
		a.header.Write(c)
		io.WriteString(c, "Connection: close\r\n\r\n")
		if r.Method != http.MethodHead {
			c.Write(a.body)
		}
	})
	u := &url.URL{Scheme: "oci", Host: registry.Address, Path: "/fleet/shaders", User: url.UserPassword(remotetest.User, remotetest.Password)}
	return registry, openWith(t, u, nil).(*backend)
}

// headManifest returns a manifest of a head, with a change.
func headManifest(t *testing.T, change func(*ocispec.Manifest)) []byte {
	t.Helper()
	m := manifest(headName, ocispec.Descriptor{MediaType: headType, Size: 6, Digest: digest.FromString("a head")}, fleet.PutOptions{})
	change(&m)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A head is what its manifest's digest names, and a manifest what its own does. What a
// registry says of either is no reason to take other bytes, or to ask for another path.
func TestHeadsThatLie(t *testing.T) {
	t.Parallel()
	same := func(*ocispec.Manifest) {}
	withDigest := func(d digest.Digest) []byte {
		return headManifest(t, func(m *ocispec.Manifest) { m.Config.Digest = d })
	}
	withSize := func(n int64) []byte {
		return headManifest(t, func(m *ocispec.Manifest) { m.Config.Size = n })
	}
	other := digest.FromString("another head")
	for name, test := range map[string]struct {
		manifest reply
		blob     reply
		want     error
	}{
		"right":                               {reply{body: headManifest(t, same)}, reply{body: []byte("a head")}, nil},
		"another digest of the manifest":      {reply{body: headManifest(t, same), header: digestHeader(other.String())}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a digest that is none":               {reply{body: headManifest(t, same), header: digestHeader("sha256:../../x")}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a digest of another kind":            {reply{body: headManifest(t, same), header: digestHeader("md5:00")}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a manifest that is cut":              {reply{body: headManifest(t, same), length: 5000}, reply{body: []byte("a head")}, fleet.ErrUnreachable},
		"a manifest of no length":             {reply{body: headManifest(t, same), length: -1}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a manifest of 2^62 bytes":            {reply{body: headManifest(t, same), length: 1 << 62}, reply{body: []byte("a head")}, fleet.ErrUnreachable},
		"a manifest that is large":            {reply{body: append(headManifest(t, same), make([]byte, 5<<20)...)}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a manifest that is deep":             {reply{body: bytes.Repeat([]byte(`{"a":`), 1<<19)}, reply{}, fleet.ErrProtocol},
		"an index":                            {reply{body: indexOf(t, 1)}, reply{}, fleet.ErrProtocol},
		"an index of an index":                {reply{body: indexOf(t, 1000)}, reply{}, fleet.ErrProtocol},
		"a page":                              {reply{body: []byte("<html>"), header: http.Header{"Content-Type": {"text/html"}}}, reply{}, fleet.ErrProtocol},
		"no type":                             {reply{body: headManifest(t, same), header: http.Header{}}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"another object":                      {reply{body: headManifest(t, func(m *ocispec.Manifest) { m.Annotations[nameAnnotation] = "v1/x/head" })}, reply{}, fleet.ErrProtocol},
		"other bytes":                         {reply{body: headManifest(t, same)}, reply{body: []byte("a lie!")}, fleet.ErrProtocol},
		"more bytes":                          {reply{body: headManifest(t, same)}, reply{body: []byte("a head and more")}, fleet.ErrProtocol},
		"more bytes, of no length":            {reply{body: headManifest(t, same)}, reply{body: []byte("a head and more"), length: -1}, fleet.ErrProtocol},
		"fewer bytes":                         {reply{body: headManifest(t, same)}, reply{body: []byte("a "), length: 6}, fleet.ErrUnreachable},
		"no bytes":                            {reply{body: headManifest(t, same)}, reply{}, fleet.ErrProtocol},
		"a config of a negative size":         {reply{body: withSize(-1)}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a config of 2^62 bytes":              {reply{body: withSize(1 << 62)}, reply{body: []byte("a head"), length: -1}, fleet.ErrProtocol},
		"a config of 4 MiB that is not there": {reply{body: withSize(4 << 20)}, reply{body: []byte("a head"), length: -1}, fleet.ErrProtocol},
		"a config without a digest":           {reply{body: withDigest("")}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a config of no kind":                 {reply{body: withDigest("a head")}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a config at another path":            {reply{body: withDigest("sha256:../../../admin")}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a config of a query":                 {reply{body: withDigest("sha256:x?delete=1")}, reply{body: []byte("a head")}, fleet.ErrProtocol},
		"a config at another host":            {reply{body: withDigest("@evil.example.test/")}, reply{body: []byte("a head")}, fleet.ErrProtocol},
	} {
		var asked atomic.Pointer[string]
		_, b := hostile(t, func(r *http.Request) reply {
			if strings.Contains(r.URL.Path, "/manifests/") {
				return test.manifest
			}
			asked.Store(&r.RequestURI)
			return test.blob
		})
		o, err := b.Get(t.Context(), headName, 0)
		if !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s: %v, not %v", name, err, test.want)
		}
		if err == nil {
			if data, err := io.ReadAll(o.Body); err != nil || string(data) != "a head" {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
		if at := asked.Load(); at != nil && *at != "/v2/fleet/shaders/blobs/"+digest.FromString("a head").String() {
			t.Errorf("%s: %s was asked for", name, *at)
		}
		if err != nil && strings.Contains(err.Error(), remotetest.Password) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func digestHeader(text string) http.Header {
	return http.Header{"Content-Type": {ocispec.MediaTypeImageManifest}, "Docker-Content-Digest": {text}}
}

func indexOf(t *testing.T, n int) []byte {
	t.Helper()
	index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex}
	for range n {
		index.Manifests = append(index.Manifests, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromString("x"), Size: 1})
	}
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// No link, redirect or place of an upload leads requests to another host, with or without
// credentials, but for the bytes of a blob.
func TestRequestsStayWithTheRegistry(t *testing.T) {
	t.Parallel()
	var had atomic.Bool
	elsewhere := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
		had.Store(had.Load() || r.Header.Get("Authorization") != "")
		io.WriteString(c, remotetest.Page("application/json", `{"token":"sesame","tags":[]}`))
	})
	away := "http://" + elsewhere.Address
	list := func(b *backend) error { _, err := b.List(context.Background(), "v1/"); return err }
	head := func(b *backend) error { _, err := b.Get(context.Background(), headName, 0); return err }
	pack := digest.FromString("a pack")
	upload := func(b *backend) error {
		_, err := b.Put(context.Background(), "v1/"+fingerprint+"/packs/"+pack.Encoded(), strings.NewReader("a pack"), fleet.PutOptions{Size: 6})
		return err
	}
	to := func(header, value string) func(*http.Request) reply {
		return func(r *http.Request) reply {
			code := http.StatusOK
			switch {
			case r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/blobs/"):
				return reply{code: http.StatusNotFound}
			case r.Method == http.MethodPost:
				code = http.StatusAccepted
			case header == "Location":
				code = http.StatusTemporaryRedirect
			}
			return reply{code: code, header: http.Header{"Content-Type": {"application/json"}, header: {value}}, body: []byte(`{"tags":[]}`)}
		}
	}
	realm := func(path string) func(*http.Request) reply {
		return func(r *http.Request) reply {
			switch {
			case strings.HasPrefix(r.URL.Path, path):
				return reply{code: http.StatusTemporaryRedirect, header: http.Header{"Location": {away + "/secret"}}}
			case r.Header.Get("Authorization") == "":
				return reply{code: http.StatusUnauthorized, header: http.Header{"Www-Authenticate": {`Bearer realm="http://` + r.Host + path + `",service="x"`}}}
			}
			had.Store(true) // a token from elsewhere was sent to the registry
			return reply{code: http.StatusForbidden}
		}
	}
	for name, test := range map[string]struct {
		answer func(*http.Request) reply
		do     func(*backend) error
	}{
		"a link to another host":                   {to("Link", "<"+away+`/v2/fleet/shaders/tags/list>; rel="next"`), list},
		"a link to another scheme":                 {to("Link", `<https://`+elsewhere.Address+`/v2/x/tags/list>; rel="next"`), list},
		"a link without a scheme":                  {to("Link", `<//`+elsewhere.Address+`/v2/x/tags/list>; rel="next"`), list},
		"a link that is none":                      {to("Link", `<http://[::1`), list},
		"a redirected listing":                     {to("Location", away+"/v2/fleet/shaders/tags/list"), list},
		"a redirected head":                        {to("Location", away+"/v2/fleet/shaders/manifests/x"), head},
		"an upload to another host":                {to("Location", away+"/upload"), upload},
		"a token from another host":                {realm("/token"), head},
		"a token from another host by a blob path": {realm("/v2/fleet/shaders/blobs/sha256:" + pack.Encoded()), head},
	} {
		_, b := hostile(t, test.answer)
		if err := test.do(b); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("%s: %v, not ErrProtocol", name, err)
		}
		if n := elsewhere.Requests(); n > 0 || had.Load() {
			t.Fatalf("%s: %d requests elsewhere, with credentials: %v", name, n, had.Load())
		}
	}
}

// A tag that is no name of an object is none, and links to the same page have an end.
func TestTagsThatAreOdd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 5000)
	tags := []string{"", "v1-", "v1", "latest", "v1-zz", "v1-" + fingerprint, "v1-" + fingerprint + "-..", "v1-" + fingerprint + "-a/b", "v1-../../x", "v1-" + fingerprint + "-lease",
		"v1-" + fingerprint + "-\x1b[31m", "v2-" + fingerprint, "V1-" + fingerprint, "v1-" + fingerprint + "-" + long, "v1-probe-x", "v1-" + fingerprint + "-packs/" + fingerprint}
	text, err := json.Marshal(map[string][]string{"tags": tags})
	if err != nil {
		t.Fatal(err)
	}
	registry, b := hostile(t, func(r *http.Request) reply {
		return reply{header: http.Header{"Content-Type": {"application/json"}}, body: text}
	})
	found, err := b.List(t.Context(), "v1/")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range found {
		if b.tag(info.Name) == "" || strings.Contains(info.Name, "..") {
			t.Errorf("listed: %q", info.Name)
		}
	}
	if len(found) == 0 || found[0].Name != headName || registry.Requests() != 1 {
		t.Errorf("%+v", found)
	}
	_, b = hostile(t, func(r *http.Request) reply {
		return reply{header: http.Header{"Content-Type": {"application/json"}, "Link": {`<` + r.RequestURI + `>; rel="next"`}}, body: []byte(`{"tags":[]}`)}
	})
	if _, err := b.List(t.Context(), "v1/"); !errors.Is(err, fleet.ErrProtocol) {
		t.Errorf("a link to the same page: %v", err)
	}
	for more, want := range map[int]error{0: nil, 1: fleet.ErrProtocol} { // short ones, so that a page has room for them
		_, b = hostile(t, func(r *http.Request) reply {
			return reply{header: http.Header{"Content-Type": {"application/json"}}, body: fmt.Appendf(nil, `{"tags":["v1"%s]}`, strings.Repeat(`,"v1-00"`, maxObjects+more))}
		})
		if _, err := b.List(t.Context(), "v1/"); !errors.Is(err, want) {
			t.Errorf("%d objects: %v", maxObjects+more, err)
		}
	}
}

// Only a blob that is read is followed to another host: by HTTPS unless the registry has none,
// a few times, and without credentials.
func TestWhichRedirectsAreFollowed(t *testing.T) {
	t.Parallel()
	const blob = "https://registry.example.test/v2/x/blobs/sha256:00"
	for name, c := range map[string]struct {
		method, first, next string
		hops                int
		insecure, want      bool
	}{
		"a blob":                       {http.MethodGet, blob, "https://store.example.test/x", 1, false, true},
		"a blob by plain HTTP":         {http.MethodGet, blob, "http://store.example.test/x", 1, false, false},
		"a blob by another scheme":     {http.MethodGet, blob, "file:///etc/passwd", 1, false, false},
		"a blob of plain HTTP":         {http.MethodGet, blob, "http://store.example.test/x", 1, true, true},
		"a blob at the same host":      {http.MethodGet, blob, "https://registry.example.test/x", 1, false, true},
		"a blob after three redirects": {http.MethodGet, blob, "https://store.example.test/x", 4, false, false},
		"an upload":                    {http.MethodPut, blob, "https://store.example.test/x", 1, false, false},
		"a look at a blob":             {http.MethodHead, blob, "https://store.example.test/x", 1, false, false},
		"a token":                      {http.MethodGet, blob + "?scope=x", "https://store.example.test/x", 1, false, false},
		"a manifest":                   {http.MethodGet, "https://registry.example.test/v2/x/manifests/y", "https://store.example.test/x", 1, false, false},
	} {
		request := func(method, u string) *http.Request {
			r, err := http.NewRequestWithContext(t.Context(), method, u, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Basic x")
			return r
		}
		next, via := request(c.method, c.next), make([]*http.Request, c.hops)
		for i := range via {
			via[i] = request(c.method, c.first)
		}
		err := redirects(c.insecure)(next, via)
		away := next.URL.Host != via[0].URL.Host
		if (err == nil) != c.want || c.want && away == (next.Header.Get("Authorization") != "") {
			t.Errorf("%s: %v, with %q", name, err, next.Header.Get("Authorization"))
		}
	}
}

// A server knows the credentials that it was sent, and may put them into any part of its
// answer. No error has them, wherever they came from.
func TestCredentialsThatAreSentBackAreInNoError(t *testing.T) {
	t.Parallel()
	pack := "v1/" + fingerprint + "/packs/" + digest.FromString("a pack").Encoded()
	for name, answer := range map[string]string{
		"a header that is none":  "HTTP/1.1 200 OK\r\nSECRET and no colon\r\n\r\n",
		"a status":               "HTTP/1.1 200SECRET\r\n\r\n",
		"no HTTP":                "SECRET\r\n\r\n",
		"a length":               "HTTP/1.1 200 OK\r\nContent-Length: SECRET\r\n\r\n",
		"an encoding":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: SECRET\r\n\r\n",
		"a digest":               "HTTP/1.1 200 OK\r\nContent-Type: " + ocispec.MediaTypeImageManifest + "\r\nDocker-Content-Digest: SECRET\r\nContent-Length: 2\r\n\r\n{}",
		"a type":                 "HTTP/1.1 200 OK\r\nContent-Type: SECRET\r\nContent-Length: 2\r\n\r\n{}",
		"a place":                "HTTP/1.1 307 X\r\nLocation: http://SECRET/%zz\r\nContent-Length: 0\r\n\r\n",
		"a link":                 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nLink: <http://SECRET:%zz>; rel=\"next\"\r\nContent-Length: 11\r\n\r\n{\"tags\":[]}",
		"a message":              "HTTP/1.1 401 X\r\nWww-Authenticate: Basic realm=\"x\"\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{\"errors\":[{\"code\":\"SECRET\",\"message\":\"SECRET\"}]}",
		"a trailer that is none": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nSECRET and no colon\r\n\r\n",
		"a realm":                "HTTP/1.1 401 X\r\nWww-Authenticate: Bearer realm=\"http://SECRET:%zz/\"\r\nContent-Length: 0\r\n\r\n",
	} {
		registry := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
			had := r.Header.Get("Authorization")
			if had == "" {
				io.WriteString(c, "HTTP/1.1 401 X\r\nConnection: close\r\nWww-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
				return
			}
			_, password, _ := r.BasicAuth()
			if strings.HasSuffix(r.URL.Path, "/list") || r.Method == http.MethodHead {
				had = password
			}
			io.WriteString(c, strings.ReplaceAll(answer, "SECRET", had))
		})
		u := &url.URL{Scheme: "oci", Host: registry.Address, Path: "/fleet/shaders"}
		b := openWith(t, u, dockerLogin(t, u.Host, remotetest.User, remotetest.Password))
		secret := base64.StdEncoding.EncodeToString([]byte(remotetest.User + ":" + remotetest.Password))
		read := func(name string, first int64) error {
			o, err := b.Get(t.Context(), name, first)
			if err == nil {
				_, err = io.ReadAll(o.Body)
			}
			return err
		}
		_, listErr := b.List(t.Context(), "v1/")
		for what, err := range map[string]error{
			"head": read(headName, 0), "pack": read(pack, 0), "rest": read(pack, 3), "list": listErr, "delete": b.Delete(t.Context(), headName),
		} {
			if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), remotetest.Password)) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// An identity token of Docker is in the body of a request to the realm.
func TestAnIdentityTokenThatIsSentBackIsInNoError(t *testing.T) {
	t.Parallel()
	const token = "swordfish-77"
	var asked atomic.Bool
	registry := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
		if r.Method == http.MethodPost {
			asked.Store(true)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n"+token+" and no colon\r\n\r\n")
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 401 X\r\nConnection: close\r\nWww-Authenticate: Bearer realm=\"http://%s/token\",service=\"x\"\r\nContent-Length: 0\r\n\r\n", r.Host)
	})
	dir := t.TempDir()
	text := fmt.Sprintf(`{"auths":{%q:{"identitytoken":%q}}}`, registry.Address, token)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u := &url.URL{Scheme: "oci", Host: registry.Address, Path: "/fleet/shaders"}
	_, err := openWith(t, u, map[string]string{"DOCKER_CONFIG": dir}).Get(t.Context(), headName, 0)
	if !errors.Is(err, fleet.ErrProtocol) || strings.Contains(err.Error(), token) || !asked.Load() {
		t.Errorf("asked %v: %v", asked.Load(), err)
	}
}
