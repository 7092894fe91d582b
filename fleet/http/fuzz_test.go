package http

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/web"
)

// roundTrip answers requests in place of a server.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// backendOf returns a backend whose server is answer.
func backendOf(t testing.TB, answer roundTrip) *backend {
	t.Helper()
	b, err := open(&url.URL{Scheme: "http", Host: "packs", User: url.UserPassword("user", "secret-password")},
		fleet.BackendOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	b.client.Transport = answer
	return b
}

// Whatever a server answers, an error is of a class of package fleet and has no credential,
// an object whose length is known is read whole, and a listing has names and sizes. (A pack
// whose length is unknown is checked by its digest.)
func FuzzAnswer(f *testing.F) {
	const json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 75\r\n\r\n"
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nETag: \"a\"\r\n\r\nhead"))
	f.Add([]byte("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 3-5/6\r\nContent-Length: 3\r\n\r\nend"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhead\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\nended early"))
	f.Add([]byte("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 302 Found\r\nLocation: http://other/secret-password\r\nContent-Length: 0\r\n\r\n"))
	f.Add([]byte(json + `[{"name":"a","type":"file","size":1},{"name":"b","type":"directory","size":0}]`))
	f.Add([]byte(json + `[{"name":"../a","type":"file","size":1}]`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		var length int64 // of the body, -1 = unknown
		b := backendOf(t, func(r *http.Request) (*http.Response, error) {
			response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), r)
			if err == nil {
				length = response.ContentLength
				response.Body = io.NopCloser(response.Body) // that of ReadResponse reads to its end
			}
			return response, err
		})
		check := func(err error) {
			if err != nil && !web.Typed(err) && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("an error of no class: %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret-password") {
				t.Errorf("an error with a credential: %v", err)
			}
		}
		for _, first := range []int64{0, 3} {
			object, err := b.Get(t.Context(), "v1/head", first)
			check(err)
			if err != nil {
				continue
			}
			data, err := io.ReadAll(object.Body)
			check(err)
			if err == nil && length >= 0 && int64(len(data)) != object.Size-first {
				t.Errorf("%d bytes from %d on, of %d", len(data), first, object.Size)
			}
			object.Body.Close()
		}
		found, err := b.List(t.Context(), "v1/")
		check(err)
		for _, info := range found {
			if !fs.ValidPath(info.Name) || !strings.HasPrefix(info.Name, "v1/") || info.Size < 0 {
				t.Errorf("listed %+v", info)
			}
		}
		_, err = b.Put(t.Context(), "v1/head", strings.NewReader("data"), fleet.PutOptions{Size: 4})
		check(err)
		check(b.Delete(t.Context(), "v1/head"))
	})
}

// A server that answers every folder with folders ends a listing with an error.
func TestAListingEnds(t *testing.T) {
	var index strings.Builder
	for n := range 40 {
		fmt.Fprintf(&index, `,{"name":"%d","type":"directory"}`, n)
	}
	for padding, most := range map[int]int{0: 2 * maxIndexFolders, maxIndexBytes / 2: 2*web.MaxListingBytes/maxIndexBytes + 1} {
		text, requests := "["+strings.Repeat(" ", padding)+index.String()[1:]+"]", 0
		b := backendOf(t, func(r *http.Request) (*http.Response, error) {
			if requests++; requests > most {
				t.Fatalf("%d requests for a listing", requests)
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		})
		if _, err := b.List(t.Context(), "v1/"); !errors.Is(err, fleet.ErrProtocol) {
			t.Errorf("%v, not ErrProtocol", err)
		}
	}
}

// A listing has room for the folders of 1000 drivers, and of 990 that were pruned.
func TestFoldersOfPrunedDrivers(t *testing.T) {
	const live, pruned = 1000, 990
	b := backendOf(t, func(r *http.Request) (*http.Response, error) {
		index := `{"name":"packs","type":"directory"}`
		switch _, below, _ := strings.Cut(r.URL.Path, "/v1/"); {
		case below == "":
			index = `{"name":"keys","type":"file","size":1}`
			for n := range live + pruned {
				index += fmt.Sprintf(`,{"name":"%d","type":"directory"}`, n)
			}
		case strings.HasSuffix(below, "/packs/"):
			index = ""
		default:
			if n, _ := strconv.Atoi(strings.TrimSuffix(below, "/")); n < live {
				index += `,{"name":"head","type":"file","size":1}`
			}
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader("[" + index + "]")), Request: r}, nil
	})
	if found, err := b.List(t.Context(), "v1/"); err != nil || len(found) != live+1 {
		t.Errorf("%d objects, not the list of keys and %d heads; %v", len(found), live, err)
	}
}

// A folder that is listed and not found is asked for again: once may be the server's fault.
func TestAListedFolderThatIsMissingOnce(t *testing.T) {
	missing := true
	b := backendOf(t, func(r *http.Request) (*http.Response, error) {
		answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
		index := `[{"name":"driver","type":"directory"}]`
		if strings.HasSuffix(r.URL.Path, "driver/") {
			if index = `[{"name":"head","type":"file","size":1}]`; missing {
				missing, answer.StatusCode = false, http.StatusNotFound
			}
		}
		answer.Body = io.NopCloser(strings.NewReader(index))
		return answer, nil
	})
	if found, err := b.List(t.Context(), "v1/"); err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// An index with what no folder has is refused.
func TestIndexesThatAreRefused(t *testing.T) {
	var many strings.Builder
	for n := range maxIndexNames + 1 {
		fmt.Fprintf(&many, `,{"name":"%d","type":"file"}`, n)
	}
	if many.Len() > maxIndexBytes {
		t.Fatalf("%d bytes are no index", many.Len())
	}
	for name, c := range map[string]struct {
		index string
		want  error
	}{
		"a negative size": {`[{"name":"a","type":"file","size":-1}]`, fleet.ErrProtocol},
		"a parent":        {`[{"name":"..","type":"file"}]`, fleet.ErrProtocol},
		"a path":          {`[{"name":"a/b","type":"file"}]`, fleet.ErrProtocol},
		"the same folder": {`[{"name":".","type":"file"}]`, fleet.ErrProtocol},
		"no name":         {`[{"type":"file"}]`, fleet.ErrProtocol},
		"many objects":    {"[" + many.String()[1:] + "]", fleet.ErrProtocol},
		"many bytes":      {"[" + strings.Repeat(" ", maxIndexBytes) + "]", errors.ErrUnsupported},
	} {
		b := backendOf(t, func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(c.index)), Request: r}, nil
		})
		if found, err := b.List(t.Context(), "v1/"); !errors.Is(err, c.want) {
			t.Errorf("%s: %d objects, %v", name, len(found), err)
		}
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	for _, text := range []string{"https:///prefix", "https:host", "https://host/prefix?signature=x", "https://host/#x"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openURL(u, fleet.BackendOptions{Getenv: func(string) string { return "" }}); err == nil {
			t.Errorf("%s is opened", text)
		}
	}
}
