package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// refuseAll is a driver that compiles nothing.
func refuseAll(_ context.Context, src *shader.Source) error {
	return &shader.CompileError{Name: src.Name(), Log: "0:1: no", Source: src}
}

func (f *fixture) compileError(src *shader.Source) *shader.CompileError {
	f.Helper()
	_, err := f.cache.Get(context.Background(), src)
	compileError, ok := errors.AsType[*shader.CompileError](err)
	if !ok {
		f.Fatalf("Get: %v", err)
	}
	return compileError
}

func TestFailedSourceIsCompiledOnce(t *testing.T) {
	f := newFixture(t, cache.Options{MemoryOnly: true})
	f.dev.OnCompile = refuseAll
	first := f.compileError(source("bad"))
	same := f.compileError(source("bad")) == first
	results, err := f.cache.Preload(context.Background(), []*shader.Source{source("bad")}, nil)
	if err != nil || !errors.As(results[0].Err, new(*shader.CompileError)) {
		t.Errorf("Preload: %v, %v", err, results[0].Err)
	}
	if calls := f.dev.Calls(); calls.Compiles != 1 || !same {
		t.Errorf("%d compiles, the same error: %v", calls.Compiles, same)
	}
}

// TestFailuresNameTheirSource gets equal texts under several names: at once, one after
// the other and together in a preload.
func TestFailuresNameTheirSource(t *testing.T) {
	f := newFixture(t, cache.Options{MemoryOnly: true})
	f.dev.OnCompile = func(ctx context.Context, src *shader.Source) error {
		return fmt.Errorf("device: %w", refuseAll(ctx, src))
	}
	list := []*shader.Source{source("bad").WithName("a"), source("bad").WithName("b"), source("bad").WithName("c")}
	check := func(err error, want string) {
		t.Helper()
		failure, ok := errors.AsType[*shader.CompileError](err)
		if !ok || failure.Name != want || failure.Source.Name() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	results, err := f.cache.Preload(context.Background(), list[:2], nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		check(r.Err, list[i].Name())
	}
	check(f.compileError(list[2]), "c")
	f.wantCounts(binary.Counters{CompileErrors: 1, NegativeHits: 1})
}

func TestFailuresAreBounded(t *testing.T) {
	f := newFixture(t, cache.Options{MemoryOnly: true})
	f.dev.OnCompile = refuseAll
	for n := range 300 {
		f.compileError(source(fmt.Sprint(n)))
	}
	f.compileError(source("299"))
	f.compileError(source("0"))
	f.wantCounts(binary.Counters{CompileErrors: 301, NegativeHits: 1})
}

// A log, or a text, of a MiB is not kept: 256 of them would be.
func TestLargeFailuresAreNotKept(t *testing.T) {
	f := newFixture(t, cache.Options{MemoryOnly: true})
	large := func(_ context.Context, src *shader.Source) error {
		return &shader.CompileError{Name: src.Name(), Log: strings.Repeat("0:1: no\n", 1<<17), Source: src}
	}
	f.dev.OnCompile = large
	for range 2 {
		f.compileError(source("large"))
	}
	f.wantCounts(binary.Counters{CompileErrors: 2})

	dir := t.TempDir()
	for i, want := range []binary.Counters{{CompileErrors: 1}, {NegativeHits: 1}} { // on disk they are
		f := openStart(t, dir, cache.Options{KeepCompileErrors: true})
		f.dev.OnCompile = large
		f.compileError(source("large"))
		if f.wantCounts(want); t.Failed() {
			t.Fatal("start", i)
		}
		f.close()
	}
}

func TestFailuresOnDisk(t *testing.T) {
	dir := t.TempDir()
	o := cache.Options{KeepCompileErrors: true}
	f := openStart(t, dir, o)
	f.dev.OnCompile = refuseAll
	f.compileError(source("bad"))
	f.wantCounts(binary.Counters{CompileErrors: 1})
	f.close()

	f = openStart(t, dir, o)
	for range 2 {
		if err := f.compileError(source("bad")); err.Log != "0:1: no" || err.Source == nil {
			t.Errorf("got %+v", err)
		}
	}
	f.wantCounts(binary.Counters{NegativeHits: 2})
	if calls := f.dev.Calls(); calls != (cachetest.Calls{}) {
		t.Errorf("calls: %+v", calls)
	}
	f.close()

	f = openStart(t, dir, cache.Options{}) // without the option
	f.wantOrigin(source("bad"), job.Compiled)
	f.close()
	must(t, realStore(t, dir).Reject(source("bad").Key(), "test"))
	must(t, realStore(t, dir).ForgetFailure(source("bad").Key()))
	f = openStart(t, dir, o)
	f.wantOrigin(source("bad"), job.Compiled)
}

// A compile error without a reason in the source is kept neither in memory nor on disk.
func TestFailureOfTheDriverIsNotKept(t *testing.T) {
	dir, o := t.TempDir(), cache.Options{KeepCompileErrors: true}
	f := openStart(t, dir, o)
	for _, log := range []string{"", "0:1: out of memory", "\xff\x01"} {
		f.dev.OnCompile = func(_ context.Context, src *shader.Source) error {
			return &shader.CompileError{Name: src.Name(), Log: log, Source: src}
		}
		f.compileError(source("bad"))
	}
	f.wantCounts(binary.Counters{CompileErrors: 3})
	f.close()

	f = openStart(t, dir, o)
	f.wantOrigin(source("bad"), job.Compiled)
	f.close()
}
