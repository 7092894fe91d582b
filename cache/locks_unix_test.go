//go:build unix

package cache_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/job"
)

const holdEnvironment = "CACHE_TEST_HOLD"

func init() {
	inChild[holdEnvironment] = func(args []string) { holdLocks(args[0], args[1]) }
}

// holdLocks holds all locks of a directory exclusively until its input ends: that
// of the index, as bbolt does, and that of the driver's folder.
func holdLocks(store, driver string) {
	f, err := os.OpenFile(filepath.Join(store, "index.db"), os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		panic(err)
	}
	if _, err := drivercache.TryExclusive(driver); err != nil {
		panic(err)
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestGetWaitsForNoLock loads programs from disk, and compiles others, while
// another process holds every lock of the directory until the last Get returned.
// So no Get can have waited for a lock, whatever the load of the machine, nor for
// the recording, which does wait.
func TestGetWaitsForNoLock(t *testing.T) {
	dir := t.TempDir()
	list := sources(120)
	f := openStart(t, dir, cache.Options{})
	for _, src := range list[:100] {
		f.wantOrigin(src, job.Compiled)
	}
	f.close()
	d, err := binary.OpenDir(dir)
	must(t, err)
	release := startHolder(t, realStore(t, dir).Path(), d.DriverDir())

	f = openStart(t, dir, cache.Options{KeepEvictedBytes: -1})
	var recording sync.WaitGroup
	stop := make(chan struct{})
	recordings := 0
	recording.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := f.cache.Flush(); err != nil {
					t.Errorf("Flush while the index is held: %v", err)
				}
				recordings++
			}
		}
	})
	longest := time.Duration(0)
	for n, src := range list {
		want := job.Disk
		if n >= 100 {
			want = job.Compiled
		}
		begin := time.Now()
		f.wantOrigin(src, want)
		longest = max(longest, time.Since(begin))
	}
	if _, err := drivercache.TryExclusive(d.DriverDir()); !errors.Is(err, drivercache.ErrInUse) {
		t.Errorf("the locks were not held until the end: %v", err)
	}
	close(stop)
	recording.Wait()
	must(t, f.cache.Flush())
	held, err := d.Lifetime()
	must(t, err)
	release()
	must(t, f.cache.Close())
	released, err := d.Lifetime()
	must(t, err)
	if held.DiskHits != 100 || held.Compiles != 120 || released.DiskHits != 100 || released.Compiles != 120 {
		t.Errorf("recorded while the index was held %+v, afterwards %+v", held, released)
	}
	t.Logf("the longest of 120 took %v; %d recordings while the index was held", longest, recordings)
}

// startHolder runs holdLocks in a process of its own.
func startHolder(t *testing.T, store, driver string) (release func()) {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), holdEnvironment+"="+store+" "+driver)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	release = sync.OnceFunc(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(release)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the holder wrote %q: %v", line, err)
	}
	return release
}
