package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// net/http may still read a body when its answer is there. The caller has the data back.
func TestDetachedUploadReadsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	data := bytes.NewReader([]byte("a pack"))
	u := NewUpload(ctx, data, data.Size())
	request, err := http.NewRequest(http.MethodPut, "http://host/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Attach(request); err != nil {
		t.Fatal(err)
	}
	if n, err := request.Body.Read(make([]byte, 2)); n != 2 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	u.Detach()
	if n, err := request.Body.Read(make([]byte, 2)); n != 0 || !errors.Is(err, os.ErrClosed) || data.Len() != 4 {
		t.Errorf("%d bytes, %v, %d left", n, err, data.Len())
	}
	if _, err := request.GetBody(); !errors.Is(err, os.ErrClosed) || data.Len() != 4 {
		t.Errorf("rewound after its end: %v", err)
	}
	cancel()
	late := NewUpload(ctx, data, 4)
	if n, err := io.Copy(io.Discard, late); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d bytes after the end of the context, %v", n, err)
	}
}

// net/http sends a body again as often as a server of HTTP/2 wants.
func TestUploadIsSentFewTimes(t *testing.T) {
	u := NewUpload(t.Context(), strings.NewReader("a pack"), 6)
	request, err := http.NewRequest(http.MethodPut, "http://host/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Attach(request); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		body, err := request.GetBody()
		if n == maxSent {
			if !errors.Is(err, fleet.ErrUnreachable) {
				t.Errorf("sent %d times: %v", n+1, err)
			}
			return
		}
		if sent, _ := io.ReadAll(body); string(sent) != "a pack" || err != nil {
			t.Fatalf("%q, %v", sent, err)
		}
	}
}
