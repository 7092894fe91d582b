package fleet_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	_ "github.com/shadercache/shadercache/fleet/http"
	_ "github.com/shadercache/shadercache/fleet/oci"
	_ "github.com/shadercache/shadercache/fleet/s3"
	"github.com/shadercache/shadercache/internal/servers"
)

// place is a store in which an attacker does what he likes.
type place interface {
	fleet.Backend
	// tamper changes a pack where it is: then it is not what its name says.
	tamper(name string, change func([]byte) []byte)
	// lose deletes a pack there, as a file system or a garbage collection does.
	lose(name string)
	// withoutSizes returns the URL of the same store, by which it does not tell the sizes of
	// packs. One that asks for a size has to be told this one.
	withoutSizes(url string, size int64) string
}

// object returns what the store has under a name.
func (s *scene) object(name string) []byte {
	s.Helper()
	o, err := s.Get(s.Context(), name, 0)
	must(s, err)
	defer o.Body.Close()
	data, err := io.ReadAll(o.Body)
	must(s, err)
	return data
}

func (s *scene) setObject(name string, data []byte) {
	s.Helper()
	_, err := s.Put(s.Context(), name, bytes.NewReader(data), fleet.PutOptions{Size: int64(len(data))})
	must(s, err)
}

// onEachPlace runs a test with a store in memory, and with real servers. empty returns a scene
// whose store has nothing yet.
func onEachPlace(t *testing.T, test func(t *testing.T, empty func(*testing.T) *scene)) {
	for name, start := range map[string]func(*testing.T) func(*testing.T) *scene{
		"memory":   func(*testing.T) func(*testing.T) *scene { return inMemory },
		"nginx":    startNginx,
		"s3":       startS3,
		"registry": startRegistry,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

func inMemory(t *testing.T) *scene {
	t.Helper()
	store, url := newMemory(t)
	return &scene{T: t, place: store, store: store, url: url, writer: openDir(t), victim: openDir(t)}
}

func startNginx(t *testing.T) func(*testing.T) *scene {
	n, scenes := servers.StartNginx(t, servers.NginxOptions{User: "robot", Password: password}), atomic.Int64{}
	return func(t *testing.T) *scene {
		u := n.URL.JoinPath(fmt.Sprint(scenes.Add(1)))
		u.User = url.UserPassword("robot", password)
		return onServer(t, u, u, func(name string) string { return filepath.Join(n.Root, u.Path, name) })
	}
}

func startS3(t *testing.T) func(*testing.T) *scene {
	s, scenes := servers.StartS3(t), atomic.Int64{}
	endpoint, err := url.Parse(s.Endpoint)
	must(t, err)
	return func(t *testing.T) *scene {
		u := s.URL.JoinPath(fmt.Sprint(scenes.Add(1)))
		u.User = url.UserPassword(s.AccessKey, s.SecretKey)
		return onServer(t, u, endpoint, func(name string) string { return filepath.Join(s.Root, u.Host, u.Path, name) })
	}
}

func startRegistry(t *testing.T) func(*testing.T) *scene { return startRegistryOf(t, false) }

// startRegistryOf has a file of its own in the pack of each scene: repositories share packs.
func startRegistryOf(t *testing.T, cache bool) func(*testing.T) *scene {
	root, scenes := t.TempDir(), atomic.Int64{}
	registry := servers.StartRegistry(t, servers.RegistryOptions{Auth: true, Cache: cache, Root: root})
	return func(t *testing.T) *scene {
		n := fmt.Sprint(scenes.Add(1))
		u := registry.JoinPath(n)
		u.User = url.UserPassword(servers.RegistryUser, servers.RegistryPassword)
		s := onServer(t, u, &url.URL{Scheme: "http", Host: u.Host}, func(name string) string {
			digest := path.Base(name)
			return filepath.Join(root, "docker/registry/v2/blobs/sha256", digest[:2], digest, "data")
		})
		writeFile(t, s.writer, "driver/mesa/mesa_shader_cache/ff/"+strings.Repeat("f", 38), []byte(n))
		return s
	}
}

// server is a store on a real server.
type server struct {
	fleet.Backend
	*testing.T
	address *url.URL
	file    func(name string) string // of a pack, on the server's disk
}

func onServer(t *testing.T, u, address *url.URL, file func(name string) string) *scene {
	t.Helper()
	b, err := fleet.OpenerOf(u.Scheme)(u, fleet.BackendOptions{Getenv: os.Getenv})
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	return &scene{T: t, place: server{b, t, address, file}, url: u.String(), writer: openDir(t), victim: openDir(t)}
}

func (s server) tamper(name string, change func([]byte) []byte) {
	s.Helper()
	data, err := os.ReadFile(s.file(name))
	must(s, err)
	must(s, os.WriteFile(s.file(name), change(data), 0o600))
}

func (s server) lose(name string) { s.Helper(); must(s, os.Remove(s.file(name))) }

// withoutSizes starts a server between, which removes the sizes of packs from answers.
func (s server) withoutSizes(u string, size int64) string {
	between := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: s.address.Scheme, Host: s.address.Host})
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			of := r.Request
			switch pack := strings.Contains(of.URL.Path, "/packs/") || strings.Contains(of.URL.Path, "/blobs/"); {
			case pack && of.Method == http.MethodGet:
				r.Header.Del("Content-Length")
				r.ContentLength = -1
			case pack:
				r.Header.Set("Content-Length", fmt.Sprint(size))
				r.ContentLength = size
			}
			return nil
		},
	})
	s.Cleanup(between.Close)
	to := strings.TrimPrefix(between.URL, "http://")
	return strings.NewReplacer(s.address.Host, to, url.QueryEscape(s.address.Host), url.QueryEscape(to)).Replace(u)
}
