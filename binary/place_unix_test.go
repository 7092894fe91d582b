//go:build unix

package binary

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/internal/osfile"
)

// placeEnvironment is an environment of paths below a new directory: no home, and a
// runtime directory that is the only private place.
func placeEnvironment(t *testing.T) (root, runtime string) {
	t.Helper()
	root = t.TempDir()
	runtime = filepath.Join(root, "run")
	must(t, os.Mkdir(runtime, 0o700))
	for name, value := range map[string]string{
		"HOME": "", "XDG_CACHE_HOME": "", dirEnvironment: "", upstreamEnvironment: "", "XDG_RUNTIME_DIR": runtime,
	} {
		t.Setenv(name, value)
	}
	return root, runtime
}

func TestPlace(t *testing.T) {
	root, runtime := placeEnvironment(t)
	baked := openTestDir(t)
	putBlobs(t, openTestStore(t, baked, testFingerprint), testBlob(0))
	file := filepath.Join(root, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	private, own := filepath.Join(runtime, "shadercache"), filepath.Join(root, "own")

	for name, c := range map[string]struct {
		place    Place
		want     string // path of the directory; "" = none
		upstream []string
		err      string // part of it; "" = none
	}{
		"the directory":                       {Place{Dir: own}, own, nil, ""},
		"the directory with upstream":         {Place{Dir: own, Upstream: baked.path}, own, []string{baked.path}, ""},
		"no directory":                        {Place{}, "", nil, "no cache directory"},
		"no directory with upstream":          {Place{Upstream: baked.path}, private, []string{baked.path}, "no cache directory"},
		"no directory that is filled":         {Place{Filled: true}, private, nil, "no cache directory"},
		"no directory, no upstream directory": {Place{Upstream: file}, "", nil, "no cache directory"},
		"a file":                              {Place{Dir: file}, "", nil, "is not a directory"},
		"a file with upstream":                {Place{Dir: file, Upstream: baked.path}, private, []string{baked.path}, "is not a directory"},
	} {
		must(t, os.RemoveAll(own)) // Find is for directories that are not made yet, too
		for _, open := range []func(Place) Location{Place.Find, Place.Open} {
			l := open(c.place)
			got := ""
			if l.Dir != nil {
				got = l.Dir.Path()
			}
			var upstream []string
			for _, up := range l.Upstream {
				upstream = append(upstream, up.Path())
			}
			if got != c.want || strings.Join(upstream, ":") != strings.Join(c.upstream, ":") || l.Private() != (c.want == private) {
				t.Errorf("%s: %q with %q, private %v", name, got, upstream, l.Private())
			}
			if c.err == "" && l.Err != nil || c.err != "" && (l.Err == nil || !strings.Contains(l.Err.Error(), c.err)) {
				t.Errorf("%s: error %v", name, l.Err)
			}
		}
	}
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	s, err := Place{Upstream: baked.path}.Open().Dir.Store(testFingerprint)
	must(t, err)
	b, err := s.Get(testKey(0))
	must(t, err)
	if !b.Upstream {
		t.Error("the program is not of the upstream directory")
	}
}

// Find makes nothing.
func TestPlaceFindMakesNothing(t *testing.T) {
	root, _ := placeEnvironment(t)
	baked := openTestDir(t)
	for _, p := range []Place{{Dir: filepath.Join(root, "a", "b")}, {Upstream: baked.path}, {Filled: true}} {
		if l := p.Find(); l.Dir == nil || exists(l.Dir.Path()) {
			t.Errorf("%+v: %+v", p, l)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A private place that another user could have prepared is left out, and the next is used.
func TestPrivatePlacesOfOthers(t *testing.T) {
	_, runtime := placeEnvironment(t)
	first, temporary := filepath.Join(runtime, "shadercache"), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	baked := openTestDir(t)
	elsewhere := t.TempDir()
	for name, prepare := range map[string]func() error{
		"others can write":  func() error { return errors.Join(os.Mkdir(first, 0o700), os.Chmod(first, 0o777)) },
		"a link":            func() error { return os.Symlink(elsewhere, first) },
		"a file":            func() error { return os.WriteFile(first, nil, 0o600) },
		"no such directory": func() error { return os.Remove(runtime) },
	} {
		must(t, errors.Join(os.RemoveAll(first), os.MkdirAll(runtime, 0o700)))
		must(t, prepare())
		l := Place{Upstream: baked.path}.Find()
		if l.Dir == nil || l.Dir.Path() == first || !strings.HasSuffix(l.Dir.Path(), "/"+filepath.Base(osfile.PrivatePlaces("shadercache")[1])) {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if files, err := os.ReadDir(elsewhere); err != nil || len(files) > 0 {
		t.Errorf("written behind the link: %v, %v", files, err)
	}
}

// A directory that cannot be written is upstream of a private place where it holds
// programs. Root can write anywhere but on a volume that is mounted read-only.
func TestPlaceOfADirectoryThatIsOnlyRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root ignores modes; cmd/shadercache tests a read-only volume")
	}
	_, runtime := placeEnvironment(t)
	private := filepath.Join(runtime, "shadercache")
	full, empty := openTestDir(t), openTestDir(t)
	putBlobs(t, openTestStore(t, full, testFingerprint), testBlob(0))
	for _, d := range []*Dir{full, empty} {
		must(t, os.Chmod(d.path, 0o500))
		t.Cleanup(func() { _ = os.Chmod(d.path, 0o700) })
	}
	if l := (Place{Dir: empty.path}).Open(); l.Dir == nil || l.Dir.path != empty.path || l.Err != nil {
		t.Errorf("empty: %+v", l)
	}
	if l := (Place{Dir: full.path}).Open(); l.Dir == nil || l.Dir.path != private || !l.Private() || len(l.Upstream) != 1 {
		t.Errorf("full: %+v", l)
	}
	l := Place{Dir: full.path, Upstream: empty.path}.Open()
	if len(l.Upstream) != 2 || l.Dir.upstream.path != full.path || l.Dir.upstream.upstream.path != empty.path {
		t.Errorf("both: %+v", l)
	}
}
