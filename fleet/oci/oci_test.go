package oci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/remotetest"
	"github.com/shadercache/shadercache/internal/servers"
)

const (
	fingerprint = "aa1f8a0c5d2e4f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
	headName    = "v1/" + fingerprint + "/head"
)

func put(t *testing.T, b fleet.Backend, name, text string, o fleet.PutOptions) string {
	t.Helper()
	o.Size = int64(len(text))
	tag, err := b.Put(t.Context(), name, strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

func get(t *testing.T, b fleet.Backend, name string) string {
	t.Helper()
	o, err := b.Get(t.Context(), name, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Body.Close()
	data, err := io.ReadAll(o.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// pushed puts a pack and a head that refers to it, and returns the head's digest.
func pushed(t *testing.T, b fleet.Backend) (pin string) {
	t.Helper()
	const pack = "a pack"
	sum := digest.FromString(pack)
	put(t, b, "v1/"+fingerprint+"/packs/"+sum.Encoded(), pack, fleet.PutOptions{})
	o := fleet.PutOptions{
		Packs:       []fleet.Pack{{Size: int64(len(pack))}},
		Annotations: map[string]string{"org.shadercache.driver": "Mesa 22.3.6"},
	}
	if err := o.Packs[0].SHA256.UnmarshalText([]byte(sum.Encoded())); err != nil {
		t.Fatal(err)
	}
	return put(t, b, headName, "a head", o)
}

// A registry takes no manifest of a blob that it has not: a head that lists such a pack is written
// all the same, without that layer.
func TestHeadOfALostPack(t *testing.T) {
	t.Parallel()
	b := openWith(t, servers.StartRegistry(t, servers.RegistryOptions{}), nil)
	pushed(t, b)
	o := fleet.PutOptions{Packs: []fleet.Pack{{Size: 6}, {Size: 4}}}
	for i, pack := range []string{"a pack", "lost"} {
		o.Packs[i].SHA256 = sha256.Sum256([]byte(pack))
	}
	put(t, b, headName, "a later head", o)
	if text := get(t, b, headName); text != "a later head" {
		t.Errorf("the head is %q", text)
	}
}

// The manifest is what other tools of registries read.
func TestHeadIsAnArtifact(t *testing.T) {
	t.Parallel()
	u := servers.StartRegistry(t, servers.RegistryOptions{})
	pin := pushed(t, openWith(t, u, nil))
	request, err := http.NewRequest(http.MethodGet, "http://"+u.Host+"/v2"+u.Path+"/manifests/v1-"+fingerprint, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", ocispec.MediaTypeImageManifest)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil || digest.FromBytes(text).String() != pin {
		t.Fatalf("%v: %s is not %s", err, text, pin)
	}
	if m.ArtifactType != headType || m.Config.MediaType != headType || m.Config.Digest != digest.FromString("a head") ||
		len(m.Layers) != 1 || m.Layers[0].Digest != digest.FromString("a pack") || m.Layers[0].MediaType != packType ||
		m.Annotations["org.shadercache.driver"] != "Mesa 22.3.6" || m.Annotations["org.shadercache.name"] != headName {
		t.Errorf("manifest %s", text)
	}
}

func TestPinnedHeadIsReadOnly(t *testing.T) {
	t.Parallel()
	u := servers.StartRegistry(t, servers.RegistryOptions{})
	writer := openWith(t, u, nil)
	pinned := *u
	pinned.Path += "@" + pushed(t, writer)
	put(t, writer, headName, "a newer head", fleet.PutOptions{})
	b := openWith(t, &pinned, nil)
	if got := get(t, b, headName); got != "a head" {
		t.Errorf("the pinned head is %q", got)
	}
	if got := get(t, writer, headName); got != "a newer head" {
		t.Errorf("the head is %q", got)
	}
	if _, err := b.Get(t.Context(), "v1/"+strings.Repeat("0", 64)+"/head", 0); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("the head of another driver: %v, not ErrNotFound", err)
	}
	if _, err := b.Put(t.Context(), headName, strings.NewReader(""), fleet.PutOptions{}); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("put: %v, not ErrDenied", err)
	}
	if err := b.Delete(t.Context(), headName); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("delete: %v, not ErrDenied", err)
	}
	if _, err := b.List(t.Context(), "v1/"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("list: %v, not ErrUnsupported", err)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	u := servers.StartRegistry(t, servers.RegistryOptions{Auth: true})
	inURL := *u
	inURL.User = url.UserPassword(servers.RegistryUser, servers.RegistryPassword)
	for _, c := range []struct {
		name      string
		url       *url.URL
		variables map[string]string
		want      error
	}{
		{"URL", &inURL, nil, fleet.ErrNotFound}, // let in
		{"Docker", u, dockerLogin(t, u.Host, servers.RegistryUser, servers.RegistryPassword), fleet.ErrNotFound},
		{"None", u, nil, fleet.ErrDenied},
		{"Wrong", u, dockerLogin(t, u.Host, servers.RegistryUser, "swordfish-77"), fleet.ErrDenied},
		{"OtherHost", u, dockerLogin(t, "registry.invalid", servers.RegistryUser, servers.RegistryPassword), fleet.ErrDenied},
	} {
		packName := strings.Replace(headName, "/head", "/packs/"+strings.Repeat("a", 64), 1)
		for name, first := range map[string]int64{headName: 0, packName: 0, packName[:len(packName)-1] + "b": 1} {
			_, err := openWith(t, c.url, c.variables).Get(t.Context(), name, first)
			if !errors.Is(err, c.want) {
				t.Errorf("%s of %s from %d: %v, not %v", c.name, name, first, err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), servers.RegistryPassword) || strings.Contains(err.Error(), "swordfish")) {
				t.Errorf("%s: the error has a password: %v", c.name, err)
			}
		}
	}
}

// Credentials of a registry go to it, and to the https realm that it names. The services of
// this machine and of its network are asked by no registry of another place.
func TestRealmThatGetsNoCredentials(t *testing.T) {
	t.Parallel()
	realm := servers.StartLiar(t, func(c net.Conn, _ *http.Request, _ <-chan struct{}) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n{\"Token\":\"sesame\"}")
	})
	for _, c := range []struct{ registry, realm string }{
		{"http://127.0.0.1", "http://auth.example.test"},
		{"http://127.0.0.1", `https://auth.example.test",x="y",realm="http://auth.example.test`},
		{"http://127.0.0.1", "HTTP://auth.example.test"},
		{"http://127.0.0.1", "http://metadata.google.internal"},
		{"http://127.0.0.1", "http://127.0.0.2"},
		{"http://127.0.0.1", "http://169.254.169.254"},
		{"http://registry.example.test", "http://auth.example.test"},
		{"https://registry.example.test", "http://registry.example.test"},
		{"https://registry.example.test", "http://auth.example.test"},
		{"https://registry.example.test", "https://127.0.0.1"},
		{"https://registry.example.test", "https://[::1]"},
		{"https://registry.example.test", "https://[::ffff:169.254.169.254]"},
		{"https://registry.example.test", "https://[fe80::1]"},
		{"https://registry.example.test", "https://localhost"},
		{"https://registry.example.test", "gopher://auth.example.test"},
	} {
		realmURL, err := url.Parse(c.realm[strings.LastIndex(c.realm, `"`)+1:])
		if err != nil {
			t.Fatal(err)
		}
		challenge := `Bearer realm="` + c.realm + `:5001/token",service="x"`
		registry := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
			io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: "+challenge+"\r\nContent-Length: 0\r\n\r\n")
		})
		scheme, host, _ := strings.Cut(c.registry, "://")
		u := &url.URL{Scheme: "oci", Host: host + ":5000", Path: "/fleet/shaders", User: url.UserPassword(remotetest.User, remotetest.Password)}
		if scheme == "http" {
			u.RawQuery = "insecure=1"
		}
		b := openWith(t, u, nil).(*backend)
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasSuffix(address, ":5000") {
				return net.Dial(network, registry.Address)
			}
			return net.Dial(network, realm.Address)
		}
		b.transport.DialContext, b.transport.DialTLSContext = dial, dial
		_, err = b.Get(t.Context(), headName, 0)
		if !errors.Is(err, fleet.ErrProtocol) || !strings.Contains(err.Error(), realmURL.Hostname()) {
			t.Errorf("%s sends to %s: %v", c.registry, c.realm, err)
		}
		if n := realm.Requests(); n > 0 {
			t.Fatalf("%s: %s was asked for a token", c.registry, c.realm)
		}
	}
}

// Registries redirect readers of blobs to a store of files, which gets no credentials.
func TestRedirectedBlobHasNoCredentials(t *testing.T) {
	t.Parallel()
	var had atomic.Bool
	store := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
		had.Store(r.Header.Get("Authorization") != "")
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 6\r\n\r\na pack")
	})
	registry := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
		if r.Header.Get("Authorization") == "" {
			io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
			return
		}
		io.WriteString(c, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://"+store.Address+"/blob\r\nContent-Length: 0\r\n\r\n")
	})
	b := openWith(t, &url.URL{
		Scheme: "oci", Host: registry.Address, Path: "/fleet/shaders",
		User: url.UserPassword(remotetest.User, remotetest.Password),
	}, nil)
	pack := digest.FromString("a pack")
	if got := get(t, b, "v1/"+fingerprint+"/packs/"+pack.Encoded()); got != "a pack" {
		t.Errorf("got %q", got)
	}
	if store.Requests() != 1 || had.Load() {
		t.Errorf("%d requests, with credentials: %v", store.Requests(), had.Load())
	}
	if _, err := b.Get(t.Context(), headName, 0); !errors.Is(err, fleet.ErrProtocol) || store.Requests() != 1 {
		t.Errorf("a head from elsewhere: %v, not ErrProtocol", err)
	}
}

// A manifest that a registry changes is refused: its digest is that of the answer.
func TestDamagedHead(t *testing.T) {
	t.Parallel()
	m, err := json.Marshal(manifest(headName, ocispec.Descriptor{
		MediaType: headType, Size: 6, Digest: digest.FromString("a head"), Data: []byte("a lie!"),
	}, fleet.PutOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"data": m, "not a manifest": []byte("{}"), "bytes": bytes.Repeat([]byte("x"), 5<<20)} {
		registry := servers.StartLiar(t, func(c net.Conn, r *http.Request, _ <-chan struct{}) {
			if strings.Contains(r.URL.Path, "/blobs/") {
				body = []byte("a lie!")
			}
			header := http.Header{"Content-Type": {ocispec.MediaTypeImageManifest}}
			(&http.Response{
				StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: header,
				ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
			}).Write(c)
		})
		b := openWith(t, &url.URL{Scheme: "oci", Host: registry.Address, Path: "/fleet/shaders"}, nil)
		if _, err := b.Get(t.Context(), headName, 0); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("%s: %v, not ErrProtocol", name, err)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"oci://", "oci://host", "oci://host/UPPER", "oci://host/repo@sha256:12", "oci://host/repo?x=1",
		"oci://host/repo:" + strings.Repeat("p", 40), "oci://host/repo:a/b",
	} {
		u, err := url.Parse(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openURL(u, fleet.BackendOptions{Getenv: os.Getenv}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	b := &backend{prefix: "nightly"}
	for _, name := range []string{headName, "v1/" + fingerprint + "/lease", "v1/probe/ABC"} {
		if got, ok := b.name(b.tag(name)); !ok || got != name {
			t.Errorf("%s has the tag %s, which is %s", name, b.tag(name), got)
		}
	}
	if name, ok := b.name("v1-" + fingerprint); ok {
		t.Errorf("a tag of another prefix is %s", name)
	}
}
