//go:build linux

package kernelset

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

var files = fstest.MapFS{
	"kernels/first.comp":  {Data: []byte("void main() { /* first */ }\n")},
	"kernels/second.comp": {Data: []byte("#include \"user.glsl\"\nvoid main() { user(N); }\n")},
	"kernels/user.glsl":   {Data: []byte("void user(int n) {}\n")},
}

// newCache returns a cache over a fake device, on which every program has to be
// released in the end.
func newCache(t *testing.T) *cache.Cache {
	t.Helper()
	programs, err := cache.New(cachetest.NewDevice(), cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := programs.Close(); err != nil {
			t.Error(err)
		}
	})
	return programs
}

var errRefused = errors.New("refused")

// refuseSecond fails for the kernel second.
type refuseSecond struct{ *cache.Cache }

func (r refuseSecond) Get(ctx context.Context, source *shader.Source) (*cache.Handle, error) {
	if source.Name() == "second" {
		return nil, errRefused
	}
	return r.Cache.Get(ctx, source)
}

func TestGet(t *testing.T) {
	handles, err := Get(t.Context(), newCache(t), files,
		Kernel{Name: "first"},
		Kernel{Name: "label", File: "second.comp", Texts: map[string]string{"user.glsl": "void user(int n) { n; }\n"}, Defines: shader.Defines{"N": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(handles) != 2 || handles[0].Name() != "first" || handles[1].Name() != "label" {
		t.Errorf("handles %v", handles)
	}
	Release(handles...)
}

// A failure releases the programs before it: otherwise closing the cache fails.
func TestGetFails(t *testing.T) {
	programs := newCache(t)
	_, err := Get(t.Context(), programs, files, Kernel{Name: "first"}, Kernel{Name: "missing"})
	if err == nil || !strings.Contains(err.Error(), "missing.comp") {
		t.Errorf("error is %v", err)
	}
	_, err = Get(t.Context(), refuseSecond{programs}, files, Kernel{Name: "first"}, Kernel{Name: "second"})
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "get second") {
		t.Errorf("error is %v", err)
	}
}
