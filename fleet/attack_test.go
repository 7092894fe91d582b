package fleet_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/shader"
)

// scene is a store with a head of mesaDriver, and a machine that never used it.
type scene struct {
	*testing.T
	place
	store  *memory // the place, where it is one in memory
	url    string
	writer *binary.Dir
	victim *binary.Dir
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return inMemory(t).filled()
}

// filled pushes two programs.
func (s *scene) filled() *scene {
	s.Helper()
	put(s, s.writer, mesaDriver, 1, 2)
	push(s, s.writer, writer(s.url))
	return s
}

// mesaHead is the name of the head.
var mesaHead = fleet.HeadName(mesaDriver.Digest())

// head returns the present head.
func (s *scene) head() fleet.Head {
	s.Helper()
	public, _ := keyPair(1)
	h, err := fleet.DecodeHead(s.object(mesaHead), []ed25519.PublicKey{public}, mesaDriver.Digest())
	must(s, err)
	return *h
}

// setHead replaces the head by one that is signed with the right key.
func (s *scene) setHead(h fleet.Head) {
	_, private := keyPair(1)
	s.setHeadObject(fleet.EncodeHead(h, private))
}

func (s *scene) setHeadObject(object []byte) { s.setObject(mesaHead, object) }

func (s *scene) changeHead(change func([]byte) []byte) { s.setHeadObject(change(s.object(mesaHead))) }

// setPack replaces all packs by one that the head lists with its size and digest.
func (s *scene) setPack(content []byte, change func(*fleet.Pack)) {
	h := s.head()
	h.Sequence++
	h.Packs = []fleet.Pack{{SHA256: sha256.Sum256(content), Size: int64(len(content)), Unpacked: 1 << 20}}
	if change != nil {
		change(&h.Packs[0])
	}
	s.setObject(fleet.PackName(mesaDriver.Digest(), h.Packs[0].SHA256), content)
	s.setHead(h)
}

// changePack replaces what the store has under the name of the pack.
func (s *scene) changePack(change func([]byte) []byte) {
	s.tamper(fleet.PackName(mesaDriver.Digest(), s.head().Packs[0].SHA256), change)
}

var attacks = map[string]struct {
	attack func(*scene)
	class  string
	says   string
}{
	"unsigned": {func(s *scene) { s.setHeadObject(fleet.EncodeHead(s.head(), nil)) }, "signature", "not signed"},
	"other key": {func(s *scene) {
		_, other := keyPair(9)
		s.setHeadObject(fleet.EncodeHead(s.head(), other))
	}, "signature", "known keys are"},
	"changed head": {func(s *scene) {
		s.changeHead(func(b []byte) []byte { return bytes.Replace(b, []byte(`"programs": 2`), []byte(`"programs": 3`), 1) })
	}, "signature", "was changed after it was signed"},
	"signature of another head": {func(s *scene) {
		line, _, _ := bytes.Cut(s.object(mesaHead), []byte("\n"))
		h := s.head()
		h.Sequence++
		_, private := keyPair(1)
		_, content, _ := bytes.Cut(fleet.EncodeHead(h, private), []byte("\n"))
		s.setHeadObject(append(append(line, '\n'), content...))
	}, "signature", "was changed after it was signed"},
	"rollback": {func(s *scene) {
		old := s.object(mesaHead)
		put(s, s.writer, mesaDriver, 3)
		push(s, s.writer, writer(s.url))
		s.see()
		s.setHeadObject(old)
	}, "rollback", "it is an old one"},
	"two heads of one number": {func(s *scene) {
		s.see()
		h := s.head()
		h.Time = h.Time.Add(time.Second)
		s.setHead(h)
	}, "rollback", "two heads have number"},
	"head of another driver": {func(s *scene) {
		put(s, s.writer, nvidiaDriver, 1)
		push(s, s.writer, writer(s.url))
		s.setHeadObject(s.object(fleet.HeadName(nvidiaDriver.Digest())))
	}, "fingerprint", "is that of driver"},
	"pack of another driver": {func(s *scene) {
		d := openDir(s)
		put(s, d, nvidiaDriver, 1)
		s.setPack(exported(s, d), nil)
	}, "damaged", "it has programs of driver"},
	"head without room for a list of keys": {func(s *scene) {
		h := s.head()
		h.Sequence++
		for n := range 12 {
			h.Packs = append(h.Packs, h.Packs[0])
			h.Packs[1+n].SHA256 = sha256.Sum256([]byte{byte(n)})
			h.Packs[1+n].Replaces = make([]shader.Digest, 256)
		}
		s.setHead(h)
	}, "damaged", "without its list of keys"},
	"truncated head": {func(s *scene) {
		s.changeHead(func(b []byte) []byte { return b[:len(b)-20] })
	}, "signature", "was changed after it was signed"},
	"truncated pack": {func(s *scene) { s.changePack(func(b []byte) []byte { return b[:len(b)-1] }) }, "damaged", "in the head"},
	"truncated pack of unknown size": {func(s *scene) {
		s.hideSizes()
		s.changePack(func(b []byte) []byte { return b[:len(b)-1] })
	}, "damaged", "bytes, and"},
	"larger pack":                 {func(s *scene) { s.changePack(func(b []byte) []byte { return append(b, 0) }) }, "damaged", "in the head"},
	"larger pack of unknown size": {func(s *scene) { s.hideSizes(); s.changePack(func(b []byte) []byte { return append(b, 0) }) }, "damaged", "more than the expected"},
	"flipped byte": {func(s *scene) {
		s.changePack(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	}, "damaged", "refused"},
	"flipped byte in the seal": {func(s *scene) {
		s.changePack(func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
	}, "damaged", "refused"},
	"swapped between two fetches": {func(s *scene) {
		d := openDir(s)
		put(s, d, mesaDriver, 1, 7)
		other := exported(s, d)
		s.hideSizes()
		s.changePack(func([]byte) []byte { return other })
	}, "damaged", "expected"},
	"zip bomb": {func(s *scene) {
		s.setPack(handmade(s, "driver/mesa/mesa_shader_cache/5e/zeros", make([]byte, 80<<20)), nil)
	}, "damaged", "it unpacks to"},
	"zip bomb that admits its size": {func(s *scene) {
		s.setPack(handmade(s, "driver/mesa/mesa_shader_cache/5e/zeros", make([]byte, 80<<20)), func(p *fleet.Pack) { p.Unpacked = 1 << 30 })
	}, "damaged", "unpack to more than"},
	"path that leaves its folder": {func(s *scene) {
		s.setPack(handmade(s, "driver/mesa/../../../evil", []byte("x")), nil)
	}, "damaged", "cannot be there"},
	"more than the limit": {func(s *scene) {
		h := s.head()
		h.Sequence++
		h.Packs[0].Unpacked = 5 << 30
		s.setHead(h)
	}, "damaged", "the limit is"},
	"sizes whose sum overflows": {func(s *scene) {
		h := s.head()
		h.Sequence++
		h.Packs = append(h.Packs, h.Packs[0])
		h.Packs[1].SHA256[0] ^= 1
		h.Packs[0].Unpacked, h.Packs[1].Unpacked = 1<<62, 1<<62
		s.setHead(h)
	}, "damaged", "impossible values"},
	"packs that unpack to less than they have": {func(s *scene) {
		h := s.head()
		h.Sequence++
		h.Packs = append(h.Packs, h.Packs[0])
		h.Packs[1].SHA256[0] ^= 1
		h.Packs[0].Size, h.Packs[1].Size = 5<<30, 5<<30
		s.setHead(h)
	}, "damaged", "the limit is"},
	"more programs than a pack can have": {func(s *scene) {
		h := s.head()
		h.Sequence++
		h.Packs[0].Programs = 1 << 62
		s.setHead(h)
	}, "damaged", "impossible values"},
	"the last number of all": {func(s *scene) {
		h := s.head()
		h.Sequence = 1<<64 - 1
		s.setHead(h)
	}, "damaged", "impossible number"},
	"pack that is not there": {func(s *scene) {
		h := s.head()
		h.Packs[0].SHA256[0] ^= 1
		h.Sequence++
		s.setHead(h)
	}, "damaged", "a pack that is not there"},
	"newer schema": {func(s *scene) {
		h := s.head()
		h.Schema++
		s.setHead(h)
	}, "newer", "newer"},
	"endless head": {func(s *scene) {
		s.changeHead(func(b []byte) []byte { return append(b, make([]byte, 1<<20)...) })
	}, "damaged", "at most"},
	"captive portal": {func(s *scene) {
		s.setHeadObject([]byte("<!DOCTYPE html><html><body>Sign in to the hotel</body></html>"))
	}, "protocol", "web page"},
}

// see makes the victim see the present head, without any pack.
func (s *scene) see() {
	o := reader(s.url)
	r := open(s, s.victim, o)
	if st := r.Status(context.Background(), &mesaDriver); st.Head == nil {
		s.Fatal(st.Err)
	}
}

// hideSizes makes the store not tell the sizes of packs.
func (s *scene) hideSizes() { s.url = s.withoutSizes(s.url, s.head().Packs[0].Size) }

// fetched are the attacks that a place's way of serving objects could change, and some of those
// on heads. What the others change is decided of bytes that each place serves alike.
var fetched = []string{"unsigned", "rollback", "truncated head", "truncated pack", "truncated pack of unknown size",
	"larger pack", "larger pack of unknown size", "flipped byte", "swapped between two fetches", "zip bomb",
	"pack that is not there", "endless head", "captive portal"}

// Whatever a store holds, a machine keeps nothing that is not right, says why, and starts. All
// attacks are tried in memory, and what is fetched on each server.
func TestAttacks(t *testing.T) {
	t.Parallel()
	onEachPlace(t, func(t *testing.T, empty func(*testing.T) *scene) {
		inMemory := strings.HasSuffix(t.Name(), "/memory")
		for name, test := range attacks {
			if !inMemory && !slices.Contains(fetched, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := empty(t).filled()
				test.attack(s)
				s.wantRefused(reader(s.url), test.class, test.says)
			})
		}
	})
}

// wantRefused checks that the victim's start and pull get nothing, and say why.
func (s *scene) wantRefused(o fleet.Options, class, says string) {
	t := s.T
	t.Helper()
	var log bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	r := open(t, s.victim, o)
	report := r.Start(context.Background(), mesaDriver)
	if report.Outcome != fleet.Failed || !errors.Is(report.Err, fleet.ErrRefused) && !errors.Is(report.Err, pack.ErrRefused) || !strings.Contains(report.Err.Error(), says) {
		t.Errorf("got %s, %v", report.Outcome, report.Err)
	}
	must(t, r.Close())
	wantNothing(t, s.victim)
	c := r.Counters()
	if c.Errors[class] != 1 || len(c.Errors) != 1 || c.Misses != 0 || c.Hits != 0 || c.Backfills != 0 {
		t.Errorf("counters: %+v", c)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
	if strings.Contains(log.String()+fmt.Sprint(report.Err), password) {
		t.Errorf("the password is in a message: %s", log.String())
	}
	_, err := open(t, s.victim, o).Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("pull: %v", err)
	}
	wantNothing(t, s.victim)
}

// wantNothing checks that a directory has no files but those that each has.
func wantNothing(t testing.TB, d *binary.Dir) {
	t.Helper()
	for _, name := range files(t, d.Path()) {
		known := []string{"README.md", "CACHEDIR.TAG", ".import.lock", "driver.lock"}
		if !strings.HasPrefix(name, fleet.Folder+"/") && !slices.Contains(known, name) {
			t.Errorf("%s was kept", name)
		}
	}
}

// exported returns a bundle of a directory.
func exported(t testing.TB, d *binary.Dir) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := pack.Export(&b, d, pack.ExportOptions{NoSources: true})
	must(t, err)
	return b.Bytes()
}

// handmade returns a bundle of mesaDriver with one file, of which Export may not make any.
func handmade(t testing.TB, path string, content []byte) []byte {
	return handmadeOf(t, 1, path, content)
}

func handmadeOf(t testing.TB, schema int, path string, content []byte) []byte {
	t.Helper()
	m := pack.Manifest{
		Schema:       schema,
		Fingerprints: []pack.Fingerprint{{Dir: mesaDriver.DirName(), Digest: mesaDriver.Digest(), Fingerprint: mesaDriver}},
		Files:        []pack.File{{Path: path, Kind: pack.Mesa, Size: int64(len(content)), SHA256: shader.Digest(sha256.Sum256(content))}},
	}
	manifest, err := json.MarshalIndent(m, "", " ")
	must(t, err)
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(8<<20))
	must(t, err)
	archive := tar.NewWriter(z)
	for _, member := range []struct {
		name string
		data []byte
	}{{"manifest.json", append(manifest, '\n')}, {path, content}} {
		must(t, archive.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: member.name, Size: int64(len(member.data)), Mode: 0o600, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
		}))
		_, err := archive.Write(member.data)
		must(t, err)
	}
	must(t, errors.Join(archive.Close(), z.Close()))
	sum := sha256.Sum256(b.Bytes())
	b.WriteString("\x5C\x2A\x4D\x18\x20\x00\x00\x00")
	b.Write(sum[:])
	return b.Bytes()
}

// Credentials are in no error, whatever a backend puts into its own.
func TestCredentialsAreInNoError(t *testing.T) {
	t.Parallel()
	d := openDir(t)
	_, url := newMemory(t)
	memories.Range(func(name, _ any) bool { return true })
	_, err := fleet.Open(d, reader(strings.Replace(url, "@", "@missing-", 1)))
	if err == nil || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "missing-") {
		t.Errorf("open: %v", err)
	}
	_, err = fleet.Open(d, reader("memory://robot:"+password+"@ %zz/"))
	if err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("a URL that cannot be parsed: %v", err)
	}
	for _, typo := range []string{"ftps:robot:", "ftps:/robot:", "ftps:///robot:"} {
		_, err = fleet.Open(d, reader(typo+password+"@host/"))
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("a URL without a host: %v", err)
		}
	}
	m, url := newMemory(t)
	m.get = func(context.Context, string, *fleet.Object) (*fleet.Object, error) {
		return nil, fmt.Errorf("%w: GET %s: no route", fleet.ErrUnreachable, url)
	}
	r := open(t, d, reader(url))
	_, err = r.Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
	_, pushErr := r.Heads(context.Background())
	s := r.Status(context.Background(), &mesaDriver)
	report := r.Start(context.Background(), mesaDriver)
	must(t, r.Close())
	text := fmt.Sprintf("%v %v %+v %+v %v %v %#v", err, pushErr, s, report, s.Err, report.Err, s.Err)
	if !errors.Is(err, fleet.ErrUnreachable) || strings.Contains(text, password) {
		t.Errorf("%s", text)
	}
	for _, name := range files(t, d.Path()) {
		if strings.Contains(name, password) || strings.Contains(string(readFile(t, d, name)), password) {
			t.Errorf("the password is in %s", name)
		}
	}
}

// What answers with the credentials that it was sent is no head, and is not shown.
func TestAnAnswerThatIsNoHeadIsNotShown(t *testing.T) {
	t.Parallel()
	const sent = "Bearer t0ken"
	m, url := newMemory(t)
	m.get = func(context.Context, string, *fleet.Object) (*fleet.Object, error) {
		return &fleet.Object{Body: io.NopCloser(strings.NewReader(sent)), Size: int64(len(sent))}, nil
	}
	d := openDir(t)
	r := open(t, d, reader(url))
	_, err := r.Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
	report := r.Start(context.Background(), mesaDriver)
	s := r.Status(context.Background(), &mesaDriver)
	must(t, r.Close())
	text := fmt.Sprintf("%v %+v %+v %v %v", err, report, s, report.Err, s.Err)
	if err == nil || strings.Contains(text, "t0k") {
		t.Error(text)
	}
	for _, name := range files(t, d.Path()) {
		if strings.Contains(string(readFile(t, d, name)), "t0k") {
			t.Errorf("it is in %s", name)
		}
	}
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (endless) Close() error               { return nil }

// A store that sends without end is cut off at the declared size.
func TestEndlessPack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if strings.Contains(name, "/packs/") {
			return &fleet.Object{Body: io.NopCloser(endless{}), Size: -1}, nil
		}
		return o, nil
	}
	_, err := open(t, s.victim, reader(s.url)).Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
	if !errors.Is(err, pack.ErrRefused) {
		t.Errorf("got %v", err)
	}
	wantNothing(t, s.victim)
}

// The limit of a pull is that of all drivers together.
func TestLimitOfAllDrivers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	put(t, s.writer, nvidiaDriver, 1)
	push(t, s.writer, writer(s.url))
	o := reader(s.url)
	o.MaxBytes = s.head().Packs[0].Unpacked
	report, err := open(t, s.victim, o).Pull(context.Background(), fleet.PullOptions{AnyDriver: true})
	if !errors.Is(err, fleet.ErrRefused) || report.Packs != 1 {
		t.Errorf("two drivers in the limit of one: %+v, %v", report, err)
	}
	o.MaxBytes *= 4
	report, err = open(t, s.victim, o).Pull(context.Background(), fleet.PullOptions{AnyDriver: true})
	if err != nil || report.Packs != 1 {
		t.Errorf("two drivers in a limit for both: %+v, %v", report, err)
	}
}

// A head that is none, or damaged, keeps no packs of other drivers from a pull of all.
func TestPullBesideABrokenHead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(head []byte) []byte{
		"empty":  func([]byte) []byte { return nil },
		"zeros":  func(head []byte) []byte { return make([]byte, len(head)) },
		"cut":    func(head []byte) []byte { return head[:len(head)-9] },
		"larger": func([]byte) []byte { return make([]byte, 300<<10) },
	} {
		s := newScene(t)
		put(t, s.writer, nvidiaDriver, 1)
		push(t, s.writer, writer(s.url))
		s.changeHead(change)
		report, err := open(t, s.victim, reader(s.url)).Pull(context.Background(), fleet.PullOptions{AnyDriver: true})
		if err != nil || report.Packs != 1 || report.Heads != 1 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// counted is a body without an end, which counts what is read of it.
type counted struct{ bytes *atomic.Int64 }

func (c counted) Read(p []byte) (int, error) {
	if c.bytes.Add(int64(len(p))) > 64<<20 {
		return 0, io.ErrUnexpectedEOF // so that a test without the limit ends
	}
	return len(p), nil
}

// Of a head no more is read than it may have, whatever the store says of its size.
func TestEndlessHead(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{-1, 1000, 1 << 62} {
		s, read := newScene(t), &atomic.Int64{}
		s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
			return &fleet.Object{Body: io.NopCloser(counted{read}), Size: size}, nil
		}
		r := open(t, s.victim, reader(s.url))
		if _, err := r.Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver}); !errors.Is(err, fleet.ErrRefused) {
			t.Errorf("size %d: %v", size, err)
		}
		if n := read.Load(); n > 1<<20 {
			t.Errorf("size %d: %d bytes of a head were read", size, n)
		}
	}
}

// A head that ends before its announced size is a connection that broke, and no attack.
func TestHeadThatEndsEarly(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		data, err := io.ReadAll(io.LimitReader(o.Body, o.Size-20))
		return &fleet.Object{Body: io.NopCloser(bytes.NewReader(data)), Size: o.Size, Tag: o.Tag}, err
	}
	_, err := open(t, s.victim, reader(s.url)).Pull(context.Background(), fleet.PullOptions{Current: &mesaDriver})
	if !errors.Is(err, fleet.ErrUnreachable) || errors.Is(err, fleet.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

// A push unpacks the packs of a head whose content it does not know. It stops at the limit of
// a pull, and leaves the head as it is: the pack may be right.
func TestPushUnpacksNoMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	h := s.head()
	h.Sequence++
	h.Packs[0].Unpacked = 5 << 30
	s.setHead(h)
	before := s.store.copyObjects()
	put(t, s.victim, mesaDriver, 3)
	_, err := open(t, s.victim, writer(s.url)).Push(context.Background(), fleet.PushOptions{})
	if err == nil || errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("got %v", err)
	}
	if name := fleet.HeadName(mesaDriver.Digest()); !bytes.Equal(before[name], s.store.copyObjects()[name]) {
		t.Error("the head was changed")
	}
}

// A push takes no pack out of a head that is right for others: one that this version cannot
// read, or that one transfer has damaged.
func TestPushKeepsThePacksOfOthers(t *testing.T) {
	t.Parallel()
	newer := func(s *scene) {
		s.setPack(handmadeOf(s, 2, "driver/mesa/mesa_shader_cache/5e/x", []byte("x")), nil)
	}
	once := func(s *scene, change func([]byte) []byte) {
		var before atomic.Bool
		s.store.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
			if !strings.Contains(name, "/packs/") || before.Swap(true) {
				return o, nil
			}
			if change == nil {
				return nil, fleet.ErrNotFound
			}
			data, err := io.ReadAll(o.Body)
			data = change(data)
			return &fleet.Object{Body: io.NopCloser(bytes.NewReader(data)), Size: int64(len(data))}, err
		}
	}
	for name, c := range map[string]struct {
		hostile func(*scene)
		err     error
	}{
		"newer":        {newer, pack.ErrNewer},
		"damaged once": {func(s *scene) { once(s, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }) }, nil},
		"cut once":     {func(s *scene) { once(s, func(b []byte) []byte { return b[:len(b)/2] }) }, nil},
		"lost once":    {func(s *scene) { once(s, nil) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			c.hostile(s)
			before := s.head().Packs[0]
			put(t, s.victim, mesaDriver, 3)
			_, err := open(t, s.victim, writer(s.url)).Push(t.Context(), fleet.PushOptions{})
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("got %v", err)
			}
			if name == "newer" {
				_, err = open(t, openDir(t), reader(s.url)).Pull(t.Context(), fleet.PullOptions{Current: &mesaDriver})
				if refused, ok := errors.AsType[*fleet.RefusedError](err); !ok || refused.Class != "newer" {
					t.Errorf("a pull: %v", err)
				}
			}
			if after := s.head().Packs; after[0].SHA256 != before.SHA256 {
				t.Errorf("the pack of another machine is not in the head: %+v", after)
			}
		})
	}
}

// What a store has in the place of the list of keys is in no head: nobody could read it, and
// no push mend it.
func TestListOfKeysThatIsNone(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]string{
		"empty": "", "JSON": `{"error": "try later"}`, "no end": "shadercache-keys ed25519", "more": "shadercache-keys ed25519 a b c\nmore",
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.setObject(fleet.KeysName, []byte(object))
			put(t, s.victim, mesaDriver, 3)
			_, err := open(t, s.victim, writer(s.url)).Push(t.Context(), fleet.PushOptions{})
			if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "is no such list") {
				t.Errorf("got %v", err)
			}
			pull(t, openDir(t), reader(s.url), mesaDriver)
		})
	}
}
