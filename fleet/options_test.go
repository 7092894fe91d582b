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
