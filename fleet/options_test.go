package fleet_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
)

func TestFromEnvironment(t *testing.T) {
	folder := t.TempDir()
	first, second := filepath.Join(folder, "first"), filepath.Join(folder, "second")
	must(t, pack.GenerateKey(first))
	must(t, pack.GenerateKey(second))
	t.Setenv("SHADERCACHE_REMOTE", "file:///srv/shadercache")
	t.Setenv("SHADERCACHE_REMOTE_MODE", "read-write")
	t.Setenv("SHADERCACHE_REMOTE_KEYS", first+".pub"+string(filepath.ListSeparator)+second+".pub")
	t.Setenv("SHADERCACHE_REMOTE_SIGN_KEY", first)
	t.Setenv("SHADERCACHE_REMOTE_BUDGET", "1s")
	o, err := fleet.FromEnvironment(fleet.Options{})
	if err != nil || o.URL != "file:///srv/shadercache" || o.Mode != fleet.ReadWrite || len(o.Keys) != 2 || o.SignKey == nil || o.Budget != time.Second || o.Unsigned {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = fleet.FromEnvironment(fleet.Options{URL: "file:///other", Mode: fleet.Off, Budget: time.Minute, Unsigned: true})
	if err != nil || o.URL != "file:///other" || o.Mode != fleet.Off || o.Budget != time.Minute || len(o.Keys) != 0 {
		t.Errorf("options do not take precedence: %+v, %v", o, err)
	}
	t.Setenv("SHADERCACHE_REMOTE_KEYS", "accept-unsigned")
	if o, err := fleet.FromEnvironment(fleet.Options{}); err != nil || !o.Unsigned || len(o.Keys) != 0 {
		t.Errorf("got %+v, %v", o, err)
	}
	for name, value := range map[string]string{
		"SHADERCACHE_REMOTE_KEYS": filepath.Join(folder, "missing"), "SHADERCACHE_REMOTE_BUDGET": "soon", "SHADERCACHE_REMOTE_MODE": "maybe",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := fleet.FromEnvironment(fleet.Options{}); err == nil || !strings.Contains(err.Error(), value) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	for _, name := range []string{"", "_MODE", "_KEYS", "_SIGN_KEY", "_BUDGET"} {
		t.Setenv("SHADERCACHE_REMOTE"+name, "")
	}
	o, err := fleet.FromEnvironment(fleet.Options{})
	if err != nil || o.Mode != fleet.Read || o.Budget != 0 || o.LeaseTime != 30*time.Second || o.MaxBytes != 4<<30 || o.Unsigned {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	for url, want := range map[string]string{
		"":                     "SHADERCACHE_REMOTE",
		"s9://bucket/prefix":   `scheme "s9"`,
		"relative/path":        `scheme ""`,
		"file://host/path":     "three slashes",
		"file:relative":        "three slashes",
		"file:///path?x=1":     "no options",
		"file:///a#b":          "%23",
		"file://user@/srv":     "no user",
		"https://user:pw@h/%z": "cannot be parsed",
	} {
		if _, err := fleet.Open(d, fleet.Options{URL: url}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := fleet.Open(d, fleet.Options{URL: "s9://bucket"}); !errors.Is(err, fleet.ErrNoBackend) {
		t.Errorf("got %v", err)
	}
}

// A push without a key, which its own readers would refuse, writes nothing.
func TestPushWithoutAKey(t *testing.T) {
	t.Parallel()
	m, url := newMemory(t)
	d := openDir(t)
	put(t, d, mesaDriver, 1)
	o := reader(url)
	_, err := open(t, d, o).Push(context.Background(), fleet.PushOptions{})
	if err == nil || !strings.Contains(err.Error(), "private key") || len(m.requests()) != 0 {
		t.Errorf("got %v", err)
	}
	o.Keys, o.Unsigned = nil, true
	push(t, d, o)
	to := openDir(t)
	pull(t, to, o, mesaDriver)
	wantPrograms(t, to, mesaDriver, 1)
	_, err = open(t, openDir(t), reader(url)).Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
	if !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("an unsigned head was accepted: %v", err)
	}
}

// Unsigned heads among keys would turn all checks off, and are refused.
func TestUnsignedAmongKeys(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	must(t, pack.GenerateKey(key))
	root := filepath.Join(t.TempDir(), "root")
	must(t, pack.GenerateRootKey(root))
	t.Setenv("SHADERCACHE_REMOTE_KEYS", key+".pub"+string(filepath.ListSeparator)+"accept-unsigned")
	if _, err := fleet.FromEnvironment(fleet.Options{}); err == nil || !strings.Contains(err.Error(), "verify nothing") {
		t.Errorf("accept-unsigned among keys: %v", err)
	}
	t.Setenv("SHADERCACHE_REMOTE_KEYS", key+".pub"+string(filepath.ListSeparator)+root+".pub")
	t.Setenv("SHADERCACHE_REMOTE_NAME", "main")
	t.Setenv("SHADERCACHE_REMOTE_MIN_SEQUENCE", "7")
	o, err := fleet.FromEnvironment(fleet.Options{})
	if err != nil || len(o.Keys) != 1 || len(o.Roots) != 1 || o.Name != "main" || o.MinSequence != 7 {
		t.Errorf("%+v, %v", o, err)
	}
	t.Setenv("SHADERCACHE_REMOTE_MIN_SEQUENCE", "many")
	if _, err := fleet.FromEnvironment(fleet.Options{}); err == nil || !strings.Contains(err.Error(), "is no number") {
		t.Errorf("a number that is none: %v", err)
	}
	if _, err := pack.ReadPrivateKey(root); err == nil {
		t.Error("a root key signs packs")
	}
}

// The name of a remote is what its URL has after the host.
func TestNamesOfRemotes(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:secret@host:8443/app/main/?x=1": "app/main",
		"file:///srv/packs":                           "srv/packs",
		"s3://bucket/prefix?endpoint=http://h:1":      "bucket/prefix",
		"s3://bucket":                                 "bucket",
		"oci://registry:5000/team/app:main":           "team/app:main",
		"oci://registry/team/app@sha256:1234":         "team/app",
		"https://host":                                "",
		"https://host/packs@staging":                  "packs@staging",
		"file:///srv/caf%c3%a9":                       "srv/caf\u00e9",
		"file:///srv/caf%e9":                          "srv/caf%e9",
	} {
		if got := fleet.NameOf(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// What is known of a bucket at one endpoint says nothing about that at another, whose heads have numbers
// of their own. Credentials and region are no part of it.
func TestFoldersOfRemotes(t *testing.T) {
	d := openDir(t)
	folder := func(url string) string { return fleet.StateFolder(open(t, d, fleet.Options{URL: url})) }
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	t.Setenv("AWS_ENDPOINT_URL", "")
	aws := folder("s3://packs/app")
	eu := folder("s3://packs/app?endpoint=https://eu:9000")
	us := folder("s3://packs/app?endpoint=https://us:9000")
	if eu == us || eu == aws || us == aws {
		t.Errorf("one folder for two places: %s %s %s", aws, eu, us)
	}
	if again := folder("s3://user:secret@packs/app?region=x&endpoint=https://eu:9000"); again != eu {
		t.Errorf("%s with credentials, %s without", again, eu)
	}
	t.Setenv("AWS_ENDPOINT_URL", "https://eu:9000")
	if again := folder("s3://packs/app"); again != eu {
		t.Errorf("%s by the environment, %s by the URL", again, eu)
	}
	for _, spellings := range [][]string{
		{"https://host/app", "https://host/app/", "https://HOST//app", "https://host/./x/../app", "https://user:secret@host/%61pp"},
		{"file:///srv/app", "file:///srv/app/", "file:///srv/%61pp"},
		{"https://host", "https://host/", "https://host:443"},
		{"http://host/app", "http://host:80/app"},
		{"s3://packs/app?endpoint=https://eu", "s3://packs/app?endpoint=https://EU/", "s3://packs/app?endpoint=https://eu:443"},
	} {
		for _, url := range spellings[1:] {
			if folder(url) != folder(spellings[0]) {
				t.Errorf("%s has a folder of its own", url)
			}
		}
	}
}
