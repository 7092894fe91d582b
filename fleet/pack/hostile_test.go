package pack

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/shadercache/shadercache/binary"
)

// member is one member of a bundle that the test builds.
type member struct {
	header *tar.Header
	data   []byte
}

// plain returns a member as Export writes it.
func plain(name string, data []byte) member {
	return member{memberHeader(name, int64(len(data))), data}
}

// handmade returns a bundle of a manifest and members that need not match.
func handmade(t testing.TB, m *Manifest, members ...member) []byte {
	t.Helper()
	manifest, err := m.encode()
	must(t, err)
	return sealed(t, archive(t, append([]member{plain(manifestName, manifest)}, members...)...))
}

func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		must(t, w.WriteHeader(m.header))
		_, err := w.Write(m.data)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func sealed(t testing.TB, content []byte) []byte { return sealedWith(t, content, 1<<20) }

func sealedWith(t testing.TB, content []byte, window int) []byte {
	t.Helper()
	// The tables of a larger window cost more than an import.
	return sealedWithWindow(t, content, zstd.MinWindowSize)
}

func sealedWithWindow(t testing.TB, content []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	s := newSealWriter(&b)
	z, err := zstd.NewWriter(s, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	must(t, err)
	_, err = z.Write(content)
	must(t, errors.Join(err, z.Close(), s.finish()))
	return b.Bytes()
}

func fileOf(name string, kind Kind, data []byte) File {
	return File{Path: name, Kind: kind, Size: int64(len(data)), SHA256: sha256.Sum256(data)}
}

// manifestOf returns a manifest with both fingerprints.
func manifestOf(files ...File) *Manifest {
	m := &Manifest{Schema: manifestSchema, Created: start, Files: append([]File{}, files...)}
	for _, f := range []binary.Fingerprint{nvidiaFingerprint, mesaFingerprint} {
		m.Fingerprints = append(m.Fingerprints, Fingerprint{f.DirName(), f.Digest(), f})
	}
	return m
}

func TestHostileBundles(t *testing.T) {
	code := []byte("machine code")
	good := fileOf(mesaFile, Mesa, code)
	at := func(name string) []byte {
		m := plain("name", code)
		if !strings.HasSuffix(name, "/") {
			m.header.Name = name
		}
		return handmade(t, manifestOf(fileOf(name, Mesa, code)), m)
	}
	header := func(change func(*tar.Header)) []byte {
		h := memberHeader(mesaFile, int64(len(code)))
		change(h)
		data := code
		if h.Typeflag != tar.TypeReg {
			h.Size, data = 0, nil
		}
		return handmade(t, manifestOf(good), member{h, data})
	}
	blob, err := testBlob(1, nvidiaFingerprint).Encode()
	must(t, err)
	key := testSource(2).Key().String() // not that of the blob
	program := nvidiaFingerprint.DirName() + "/blobs/" + key[:2] + "/" + key + ".bin"
	own := testSource(1).Key().String()
	otherDrivers := mesaFingerprint.DirName() + "/blobs/" + own[:2] + "/" + own + ".bin"
	noDrivers := "GPU-01234567/blobs/" + own[:2] + "/" + own + ".bin"
	source := "sources/" + key[:2] + "/" + key + ".glsl.zst"
	toc, _ := nvidiaSlot(1)
	zeros := make([]byte, 64<<20)
	long := bytes.Repeat(code, batchBytes/len(code)+1) // streamed, and not read at once
	bomb := fileOf(mesaFile, Mesa, code)
	bomb.Size = 1 << 40
	large := fileOf(mesaFile, Mesa, code)
	large.Size = 900 << 20
	largeToc := fileOf(slotFolder+"/shadercache0.toc", NVIDIA, toc)
	largeToc.Size = 24<<20 + 1

	for _, test := range []struct {
		name   string
		bundle []byte
		reason string
	}{
		{"parent", at("driver/mesa/../../../outside"), "cannot be there"},
		{"parent at the start", at("../outside"), "cannot be there"},
		{"absolute", at("/tmp/outside"), "cannot be there"},
		{"absolute on Windows", at(`C:\outside`), "cannot be there"},
		{"backslashes", at(`driver/mesa/..\..\outside`), "cannot be there"},
		{"hidden", at("driver/mesa/.bashrc"), "cannot be there"},
		{"beside the folders", at("outside"), "cannot be there"},
		{"the index", at(nvidiaFingerprint.DirName() + "/index.db"), "cannot be there"},
		{"the lock", at("driver/mesa.lock"), "cannot be there"},
		{"staging", at(".import/ready/manifest.json"), "cannot be there"},
		{"an empty name", at("driver/mesa/"), "cannot be there"},
		{"too deep", at("driver/mesa/a/b/c/d/e"), "cannot be there"},
		{"a path too long for tar", handmade(t, manifestOf(fileOf("driver/mesa/"+strings.Repeat("a", 60)+"/"+strings.Repeat("b", 60), Mesa, code))), "longer than 100 bytes"},
		{"a database of Mesa", at("driver/mesa/mesa_shader_cache_db/part0/mesa_cache.db"), "databases"},
		{"symbolic link", header(func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeSymlink, "/etc/passwd" }), `a link to "/etc/passwd"`},
		{"hard link", header(func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeLink, "../../outside" }), "a link to"},
		{"device", header(func(h *tar.Header) { h.Typeflag, h.Devmajor = tar.TypeBlock, 8 }), "not a plain file"},
		{"pipe", header(func(h *tar.Header) { h.Typeflag = tar.TypeFifo }), "not a plain file"},
		{"directory", header(func(h *tar.Header) { h.Typeflag = tar.TypeDir }), "not a plain file"},
		{"executable", header(func(h *tar.Header) { h.Mode = 0o4755 }), "properties"},
		{"an owner", header(func(h *tar.Header) { h.Uid = 1000 }), "properties"},
		{"extended attributes", header(func(h *tar.Header) {
			h.Format, h.PAXRecords = tar.FormatPAX, map[string]string{"SCHILY.xattr.user.x": "y"}
		}), "properties"},
		{"another name", handmade(t, manifestOf(good), plain("driver/mesa/other", code)), "in this place"},
		{"another size", handmade(t, manifestOf(good), plain(mesaFile, append(code, '!'))), "13 bytes, and 12"},
		{"another content", handmade(t, manifestOf(good), plain(mesaFile, bytes.ToUpper(code))), "checksum"},
		{"another content, streamed", handmade(t, manifestOf(fileOf(mesaFile, Mesa, long)), plain(mesaFile, bytes.ToUpper(long))), "checksum"},
		{"another content of a large source", handmade(t, manifestOf(fileOf(source, Source, long)), plain(source, bytes.ToUpper(long))), "checksum"},
		{"a member less", handmade(t, manifestOf(good)), "not in the bundle"},
		{"a member more", handmade(t, manifestOf(good), plain(mesaFile, code), plain("driver/mesa/other", code)), "not in the manifest"},
		{"a member, none named", handmade(t, manifestOf(), plain(mesaFile, code)), "not in the manifest"},
		{"the same member twice", handmade(t, manifestOf(good), plain(mesaFile, code), plain(mesaFile, code)), "not in the manifest"},
		{"the same file twice", handmade(t, manifestOf(good, good), plain(mesaFile, code), plain(mesaFile, code)), "there twice"},
		{"unknown kind", handmade(t, manifestOf(fileOf(mesaFile, "script", code)), plain(mesaFile, code)), "no kind"},
		{"a kind in another's place", handmade(t, manifestOf(fileOf(mesaFile, Program, code)), plain(mesaFile, code)), "cannot be there"},
		{"half a slot", handmade(t, manifestOf(fileOf(slotFolder+"/shadercache0.toc", NVIDIA, toc)), plain(slotFolder+"/shadercache0.toc", toc)), "other file"},
		{"a table that no driver reads", handmade(t, manifestOf(fileOf(slotFolder+"/shadercache0.bin", NVIDIA, toc), largeToc)), "at most 25165824"},
		{"a table with half an entry", handmade(t, manifestOf(fileOf(slotFolder+"/shadercache0.bin", NVIDIA, toc), fileOf(slotFolder+"/shadercache0.toc", NVIDIA, toc[:40])),
			plain(slotFolder+"/shadercache0.bin", toc), plain(slotFolder+"/shadercache0.toc", toc[:40])), ".toc has 40 bytes"},
		{"another application's slot", at(slotFolder + "/chrome0.toc"), "cannot be there"},
		{"larger than can be", handmade(t, manifestOf(bomb)), "at most"},
		{"larger than allowed", handmade(t, manifestOf(large)), "unpacks to"},
		{"bomb in a member", handmade(t, manifestOf(good), plain(mesaFile, zeros)), "67108864 bytes, and 12"},
		{"bomb in the manifest", sealed(t, archive(t, plain(manifestName, append(zeros, 0)))), "are allowed"},
		{"bomb after the archive", sealed(t, append(archive(t), zeros...)), "ends before manifest.json"},
		{"bytes after the archive", sealed(t, append(handmadeArchive(t, manifestOf(good), plain(mesaFile, code)), 0)), "follows the end"},
		{"no blob", handmade(t, manifestOf(fileOf(program, Program, code)), plain(program, code)), "not a program blob"},
		{"another program's blob", handmade(t, manifestOf(fileOf(program, Program, blob)), plain(program, blob)), "holds program"},
		{"another driver's blob", handmade(t, manifestOf(fileOf(otherDrivers, Program, blob)), plain(otherDrivers, blob)), "made by driver"},
		{"a program of no driver", handmade(t, manifestOf(fileOf(noDrivers, Program, blob)), plain(noDrivers, blob)), "fingerprint is not in the manifest"},
		{"no source", handmade(t, manifestOf(fileOf(source, Source, code)), plain(source, code)), "source"},
		{"no archive", sealed(t, []byte("hello")), "cannot be unpacked"},
		{"an empty archive", sealed(t, archive(t)), "ends before manifest.json"},
		{"no manifest first", sealed(t, archive(t, plain(mesaFile, code))), "in this place"},
		{"no JSON", sealed(t, archive(t, plain(manifestName, code))), "invalid character"},
		{"later schema", handmade(t, &Manifest{Schema: 2}), "schema 2"},
		{"a fingerprint without its digest", handmade(t, func() *Manifest {
			m := manifestOf()
			m.Fingerprints[0].Fingerprint.Version = "other"
			return m
		}()), "does not match its digest"},
		{"no bundle", []byte("hello"), "no bundle"},
		{"nothing", nil, "no bundle"},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := t.TempDir()
			to, err := binary.OpenDir(filepath.Join(home, "a", "cache"))
			must(t, err)
			_, err = Import(bytes.NewReader(test.bundle), to, ImportOptions{Trust: true, AnyDriver: true, MaxBytes: 512 << 20})
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %v, want a refusal with %q", err, test.reason)
			}
			if later, large := test.name == "later schema", test.name == "larger than allowed"; errors.Is(err, ErrNewer) != later || errors.Is(err, ErrTooLarge) != large {
				t.Errorf("%v is of another kind", err)
			}
			wantEmpty(t, to)
			if files := tree(t, home); len(files) > 5 {
				t.Errorf("written outside: %q", files)
			}
		})
	}
}

func handmadeArchive(t testing.TB, m *Manifest, members ...member) []byte {
	t.Helper()
	manifest, err := m.encode()
	must(t, err)
	return archive(t, append([]member{plain(manifestName, manifest)}, members...)...)
}

// An import does not follow links out of the cache directory.
func TestLinksInTheDirectory(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	for _, name := range []string{"sources", "driver", mesaFingerprint.DirName(), stagingName} {
		to, outside := openDir(t), t.TempDir()
		must(t, os.Symlink(outside, filepath.Join(to.Path(), name)))
		_, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
		if files, _ := os.ReadDir(outside); len(files) != 0 {
			t.Errorf("%s is a link: written outside, %v", name, err)
		}
		if err == nil && name != stagingName {
			t.Errorf("%s is a link: no error", name)
		}
	}
}

// What a bundle has in the place of a folder is no error of the imports that follow.
func TestFileInThePlaceOfAFolder(t *testing.T) {
	code := []byte("machine code")
	for _, place := range []string{mesaFolder + "/mesa_shader_cache", filepath.Dir(mesaFile)} {
		to := openDir(t)
		writeFile(t, to, "driver/mesa/mesa_shader_cache/marker", nil) // else the folder is moved as a whole
		if place != filepath.Dir(mesaFile) {
			must(t, os.RemoveAll(filepath.Join(to.Path(), place)))
		}
		for _, bundle := range [][]byte{
			handmade(t, manifestOf(fileOf(place, Mesa, code)), plain(place, code)), exported(t, filledDir(t), ExportOptions{}),
		} {
			if _, err := Import(bytes.NewReader(bundle), to, ImportOptions{Trust: true, AnyDriver: true}); err != nil {
				t.Errorf("%s: %v", place, err)
			}
		}
		files := tree(t, to.Path())
		if own := testSource(1).Key().String(); files[place] != string(code) || files[mesaFingerprint.DirName()+"/blobs/"+own[:2]+"/"+own+".bin"] == "" {
			t.Errorf("%s: %q", place, slices.Sorted(maps.Keys(files)))
		}
	}
}

// small returns a bundle with a file of every kind and a signature.
func small(t testing.TB) []byte {
	t.Helper()
	from := filledDir(t)
	_, key := keys(t)
	return exported(t, from, ExportOptions{SignKey: key})
}

func TestEveryFlippedByte(t *testing.T) {
	whole, to := small(t), openDir(t)
	for i := range whole {
		whole[i] ^= 0xFF
		wantRefused(t, whole, to, i)
		whole[i] ^= 0xFE
		wantRefused(t, whole, to, i)
		whole[i] ^= 0x01
	}
	wantEmpty(t, to)
	_, err := Import(bytes.NewReader(whole), to, ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
}

func TestEveryLength(t *testing.T) {
	whole, to := small(t), openDir(t)
	for n := range whole {
		wantRefused(t, whole[:n], to, n)
	}
	wantRefused(t, append(whole, 0), to, len(whole))
	wantRefused(t, append(whole[:len(whole):len(whole)], whole...), to, 2*len(whole))
	wantEmpty(t, to)
}

func wantRefused(t *testing.T, bundle []byte, to *binary.Dir, at int) {
	t.Helper()
	if _, err := Import(bytes.NewReader(bundle), to, ImportOptions{Trust: true, AnyDriver: true}); !errors.Is(err, ErrRefused) {
		t.Errorf("byte %d: got %v, want ErrRefused", at, err)
	}
	if _, err := Items(bytes.NewReader(bundle), ImportOptions{Trust: true, AnyDriver: true, MaxBytes: defaultMaxBytes}); !errors.Is(err, ErrRefused) {
		t.Errorf("byte %d: its list is %v, want ErrRefused", at, err)
	}
}

// An error of the reader is returned, and is no *RefusedError.
func TestFailingReader(t *testing.T) {
	whole, broken, to := small(t), errors.New("broken disk"), openDir(t)
	for _, n := range []int{0, 20, len(whole) / 2, len(whole) - 1, len(whole)} {
		r := io.MultiReader(bytes.NewReader(whole[:n]), failingReader{broken})
		if _, err := Import(r, to, ImportOptions{Trust: true, AnyDriver: true}); !errors.Is(err, broken) || errors.Is(err, ErrRefused) {
			t.Errorf("after %d bytes: got %v, want the reader's error", n, err)
		}
	}
	wantEmpty(t, to)
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// FuzzManifest checks that an accepted manifest is encoded to the same bytes.
// TestFormOfManifests: members are read in the order of the manifest, so it has one, and no
// entry is read that is larger than any.
func TestFormOfManifests(t *testing.T) {
	a, b := fileOf("driver/mesa/a", Mesa, []byte("1")), fileOf("driver/mesa/b", Mesa, []byte("2"))
	data, err := manifestOf(a, b).encode()
	must(t, err)
	swap := strings.NewReplacer("driver/mesa/a", "driver/mesa/b", "driver/mesa/b", "driver/mesa/a")
	if _, err := decodeManifest([]byte(swap.Replace(string(data)))); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got %v", err)
	}
	if _, err := decodeManifest(data); err != nil {
		t.Error(err)
	}
	data, err = manifestOf(fileOf("driver/mesa/"+strings.Repeat("a", maxEntryBytes), Mesa, nil)).encode()
	must(t, err)
	if _, err := decodeManifest(data); err == nil || err.Error() != notCanonical().Error() {
		t.Errorf("an entry that is larger than any: %.200v", err)
	}
}

func FuzzManifest(f *testing.F) {
	from := filledDir(f)
	m := manifestOf(fileOf(mesaFile, Mesa, []byte("x")))
	data, err := m.encode()
	must(f, err)
	f.Add(data)
	must(f, os.RemoveAll(from.Path()))
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("got %v, want ErrRefused", err)
			}
			return
		}
		again, err := m.encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%v, written differently:\n%s\n%s", err, again, data)
		}
		for _, file := range m.Files {
			if !filepath.IsLocal(file.Path) {
				t.Errorf("path %q", file.Path)
			}
		}
	})
}

// FuzzImport imports sealed archives, so that the checks after that of the seal are
// reached.
func FuzzImport(f *testing.F) {
	code := []byte("machine code")
	f.Add(handmadeArchive(f, manifestOf(fileOf(mesaFile, Mesa, code)), plain(mesaFile, code)))
	f.Add(archive(f))
	f.Add([]byte("hello"))
	to := openDir(f) // making and removing one takes longer than an import that is refused
	f.Fuzz(func(t *testing.T, content []byte) {
		// The tables of a larger window cost more than an import.
		_, err := Import(bytes.NewReader(sealedWith(t, content, zstd.MinWindowSize)), to, ImportOptions{Trust: true, AnyDriver: true, MaxBytes: 1 << 20})
		if err == nil {
			must(t, os.RemoveAll(to.Path()))
			to, err = binary.OpenDir(to.Path())
			must(t, err)
			return
		}
		if !errors.Is(err, ErrRefused) {
			t.Errorf("got %v, want ErrRefused", err)
		}
		wantEmpty(t, to)
	})
}
