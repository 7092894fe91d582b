package servers

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// S3 is a running S3 gateway with one bucket.
type S3 struct {
	URL       *url.URL // with its endpoint as an option
	Endpoint  string
	Root      string // folder of the buckets
	AccessKey string
	SecretKey string
}

// StartS3 starts versitygw on a folder.
func StartS3(t testing.TB) *S3 {
	t.Helper()
	const bucket = "packs"
	dir, address, program := t.TempDir(), freeAddress(t), gateway(t)
	buckets := folder(t, dir, "buckets")
	folder(t, buckets, bucket)
	s := &S3{Endpoint: "http://" + address, Root: buckets, AccessKey: "tester", SecretKey: "secret-of-tester"}
	s.URL = &url.URL{Scheme: "s3", Host: bucket, Path: "/cache", RawQuery: "endpoint=" + url.QueryEscape(s.Endpoint)}
	env := []string{"AWS_ACCESS_KEY_ID=" + s.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s.SecretKey}
	run(t, dir, address, env, program, address, buckets)
	return s
}

// gateway builds bin/s3gateway where it is not up to date, and returns its path. The first
// build takes a minute of CPU time; without optimization, which would double that.
func gateway(t testing.TB) string {
	t.Helper()
	root := moduleRoot(t)
	bin := folder(t, root, "bin")
	lock, err := os.OpenFile(filepath.Join(bin, "s3gateway.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for osfile.TryLock(lock, true) != nil { // another package's test builds it
		time.Sleep(50 * time.Millisecond)
	}
	defer osfile.Unlock(lock)
	path := filepath.Join(bin, "s3gateway")
	build := exec.Command("go", "build", "-gcflags=github.com/...=-N -l", "-ldflags=-s -w", "-o", path, ".")
	build.Dir = filepath.Join(root, "internal", "servers", "s3gateway")
	build.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the S3 gateway: %v\n%s", err, output)
	}
	return path
}

// moduleRoot returns the folder of the project's go.mod, above that of the test.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test's folder")
		}
	}
}
