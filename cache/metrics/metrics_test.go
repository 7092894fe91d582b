package metrics_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/cache/metrics"
	"github.com/shadercache/shadercache/shader"
)

// scrape returns the page of a cache, as a server sends it.
func scrape(t *testing.T, c *cache.Cache) string {
	t.Helper()
	server := httptest.NewServer(metrics.Handler(c))
	defer server.Close()
	reply, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %s", reply.Status, err, body)
	}
	return string(body)
}

func wantLines(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+page, "\n"+line+"\n") {
			t.Errorf("%q is not on the page:\n%s", line, page)
		}
	}
}

func newCache(t *testing.T, o cache.Options) *cache.Cache {
	t.Helper()
	c, err := cache.New(cachetest.NewDevice(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, c *cache.Cache, name string) {
	t.Helper()
	h, err := c.Get(context.Background(), shader.MustSource(name, "void main() {}//"+name, nil))
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
}

// Two processes after each other: the page of the second has its own figures beside those
// of both.
func TestFiguresOfTheProcessAndOfItsLifetime(t *testing.T) {
	dir := t.TempDir()
	first := newCache(t, cache.Options{Dir: dir})
	get(t, first, "a")
	get(t, first, "b")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := newCache(t, cache.Options{Dir: dir})
	for range 3 {
		get(t, second, "a")
	}
	wantLines(t, scrape(t, second),
		"shadercache_process_disk_hits_total 1", "shadercache_process_compiles_total 0", "shadercache_process_resident_hits_total 2",
		"shadercache_process_resident_programs 1", "shadercache_process_hit_ratio 1", "shadercache_process_memory_only 0",
		"# TYPE shadercache_process_resident_programs gauge", "# TYPE shadercache_compiles_total counter",
		"shadercache_compiles_total 2", "shadercache_disk_hits_total 0")
	if err := second.Flush(); err != nil {
		t.Fatal(err)
	}
	get(t, second, "c")
	wantLines(t, scrape(t, second), "shadercache_disk_hits_total 1", "shadercache_compiles_total 2", "shadercache_process_compiles_total 1")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	wantLines(t, scrape(t, second), "shadercache_compiles_total 3", "shadercache_process_compiles_total 1", "shadercache_process_resident_programs 0")
}

func TestACacheInMemoryHasNoLifetime(t *testing.T) {
	c := newCache(t, cache.Options{MemoryOnly: true})
	defer c.Close()
	page := scrape(t, c)
	wantLines(t, page, "shadercache_process_memory_only 1")
	if strings.Contains(page, "\nshadercache_compiles_total") {
		t.Errorf("figures of a directory:\n%s", page)
	}
}

// Each counter is a metric with its value.
func TestEachCounterIsAMetric(t *testing.T) {
	var c binary.Counters
	n := reflect.ValueOf(&c).Elem()
	for i := range n.NumField() {
		switch f, nanos := n.Field(i), strings.HasSuffix(n.Type().Field(i).Name, "Nanos"); {
		case f.CanUint():
			f.SetUint(uint64(1000 + i))
		case nanos:
			f.SetInt(int64(1000+i) * 1e9)
		default:
			f.SetInt(int64(1000 + i))
		}
	}
	shown := map[float64]bool{}
	c.EachMetric(func(name, help string, value float64) {
		shown[value] = true
		if !strings.HasSuffix(name, "_total") || !strings.HasSuffix(help, ".") {
			t.Errorf("%s: %s", name, help)
		}
	})
	for i := range n.NumField() {
		if !shown[float64(1000+i)] {
			t.Errorf("%s is not shown", n.Type().Field(i).Name)
		}
	}
}
