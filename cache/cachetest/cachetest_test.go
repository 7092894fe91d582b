package cachetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

func compile(t *testing.T, d *cachetest.Device, src *shader.Source) (p shader.Program, err error) {
	t.Helper()
	calls := 0
	d.Compile(context.Background(), []*shader.Source{src}, func(_ int, made shader.Program, failed error) {
		p, err = made, failed
		calls++
	})
	if calls != 1 {
		t.Fatalf("done was called %d times", calls)
	}
	return p, err
}

func TestBinaryLoadsAsTheSameProgram(t *testing.T) {
	ctx := context.Background()
	d := cachetest.NewDevice()
	src := shader.MustSource("a", "void main() {}", nil)
	made, err := compile(t, d, src)
	if err != nil {
		t.Fatal(err)
	}
	format, payload, err := d.Binary(ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := d.Load(ctx, format, payload)
	if err != nil {
		t.Fatal(err)
	}
	if loaded.ID == made.ID || loaded.Interface.Digest() != made.Interface.Digest() || loaded.Bytes != made.Bytes {
		t.Errorf("compiled %+v, loaded %+v", made, loaded)
	}
	d.Use(loaded.ID, src.Key())

	d.ChangeInterfaces(true)
	other, err := d.Load(ctx, format, payload)
	if err != nil || other.Interface.Digest() == made.Interface.Digest() {
		t.Errorf("other %+v, %v", other, err)
	}
	d.RejectBinaries(true)
	if _, err := d.Load(ctx, format, payload); !errors.Is(err, shader.ErrRejected) {
		t.Errorf("error %v", err)
	}
	d.RejectBinaries(false)
	if _, err := d.Load(ctx, format, payload[:len(payload)-1]); !errors.Is(err, shader.ErrRejected) {
		t.Errorf("error %v", err)
	}
	for _, p := range []shader.Program{made, loaded, other} {
		d.Delete(p.ID)
	}
	d.Verify(t)
	if calls := d.Calls(); calls != (cachetest.Calls{Batches: 1, Compiles: 1, Loads: 4, Binaries: 1, Deletes: 3}) {
		t.Errorf("calls: %+v", calls)
	}
}

func TestMisuseIsAFault(t *testing.T) {
	d := cachetest.NewDevice()
	src := shader.MustSource("a", "void main() {}", nil)
	p, _ := compile(t, d, src)
	d.Use(p.ID, shader.Key{})
	d.Delete(p.ID)
	d.Delete(p.ID)
	d.Use(p.ID, src.Key())
	if _, _, err := d.Binary(context.Background(), p.ID); err == nil {
		t.Error("a deleted program has a binary")
	}
	if faults := d.Faults(); len(faults) != 4 {
		t.Errorf("faults: %q", faults)
	}
}

func TestHangEndsWithTheContext(t *testing.T) {
	d := cachetest.NewDevice()
	release := d.Hang()
	defer release()
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	if _, err := d.Load(ctx, cachetest.Format, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestFailures(t *testing.T) {
	d := cachetest.NewDevice()
	src := shader.MustSource("a", "void main() {}", nil)
	d.RunOutOfMemory(1)
	if _, err := compile(t, d, src); !errors.Is(err, shader.ErrOutOfMemory) {
		t.Errorf("error %v", err)
	}
	p, err := compile(t, d, src)
	if err != nil {
		t.Error(err)
	}
	d.Delete(p.ID)
	d.LoseContext()
	if _, err := compile(t, d, src); !errors.Is(err, shader.ErrContextLost) {
		t.Errorf("error %v", err)
	}
	d.Verify(t)
}

func TestDamageIsReportedOnce(t *testing.T) {
	s := cachetest.NewStore()
	key := shader.Key{1}
	if err := s.Put(&binary.Blob{Key: key}); err != nil {
		t.Fatal(err)
	}
	s.Damage(key)
	if _, err := s.Get(key); !errors.Is(err, binary.ErrDamaged) || s.Rejected(key) == "" {
		t.Errorf("error %v, rejected for %q", err, s.Rejected(key))
	}
	if _, err := s.Get(key); !errors.Is(err, binary.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// A cache over fakes: no GPU, no disk.
func Example() {
	dev := cachetest.NewDevice()
	c, err := cache.New(dev, cache.Options{Store: cachetest.NewStore()})
	if err != nil {
		panic(err)
	}
	src := shader.MustSource("double", "layout(local_size_x = 64) in; void main() {}", nil)
	for range 2 {
		h, err := c.Get(context.Background(), src)
		if err != nil {
			panic(err)
		}
		fmt.Println(h.Name(), h.Origin())
		h.Release()
	}
	if err := c.Close(); err != nil {
		panic(err)
	}
	fmt.Println(dev.Calls().Compiles, "compile,", len(dev.Live()), "programs left")
	// Output:
	// double compiled
	// double resident
	// 1 compile, 0 programs left
}
