package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// forged begins a line that a hostile name tries to add, red.
const forged = "FORGED"

const hostile = "x\x1b[31m\r\n" + forged + "\u202e"

// No name of a file, program, driver or GPU controls a terminal or adds a line.
func TestHostileNames(t *testing.T) {
	info := gltest.Open(t).Info()
	folder := filepath.Join(t.TempDir(), hostile)
	dir := filepath.Join(folder, "cache"+hostile)
	fillHostile(t, dir, info.Fingerprint)
	kernel := filepath.Join(folder, hostile+".comp")
	picture := filepath.Join(folder, hostile+".png")
	for _, err := range []error{
		os.WriteFile(kernel, []byte("#version 430\nlayout(local_size_x = 1) in; void main() { for (;;) {} barrier( }"), 0o600),
		imaging.WritePNG(picture, clitest.SmallPicture()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	bundle := filepath.Join(folder, hostile+".scb")
	for _, args := range [][]string{
		{"stats"}, {"stats", "--prometheus"}, {"list"}, {"list", "--tuning"}, {"inspect", hostile}, {"inspect", "none" + hostile},
		{"verify"}, {"doctor"}, {"config"}, {"config", "set", hostile, "1"}, {"config", "set", "max-bytes", hostile},
		{"prune", "--dry-run", "--max-bytes", "0"}, {"clear", "--dry-run"}, {"clear"}, {"rm", "--dry-run", hostile}, {"rm", "none" + hostile},
		{"export", bundle}, {"import", "--trust", bundle}, {"import", picture}, {"export", folder}, {"export", bundle, "--fingerprint", hostile},
		{"why", kernel}, {"preload", kernel}, {"preload", "none" + hostile},
		{"rebuild", "--dry-run"}, {"run", "--image", picture, "--out", picture}, {"run", "--image", kernel},
		{"keygen", filepath.Join(folder, "key"+hostile)}, {"man", filepath.Join(folder, "man"+hostile)},
		{"exec", "--", "none" + hostile}, {"none" + hostile}, {"help", hostile}, {"stats", "--fail-under", hostile},
		{"--device", hostile, "doctor"}, {"--log-level", hostile, "list"}, {"verify", "--repair"},
	} {
		if needsNoDir(args[0]) {
			checkHostile(t, nil, args)
		} else {
			checkHostile(t, []string{"--dir", dir}, args)
		}
	}
}

func needsNoDir(name string) bool {
	return name == "keygen" || name == "man"
}

func checkHostile(t *testing.T, global, args []string) {
	t.Helper()
	cmd := exec.Command("shadercache", append(global, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		t.Errorf("%q printed nothing", args)
	}
	if strings.ContainsAny(out.String(), "\x1b\r\u202e") {
		t.Errorf("%q printed a control character: %q", args, out.String())
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, forged) {
			t.Errorf("%q printed a line of the name's: %q", args, out.String())
		}
	}
}

// fillHostile makes a cache whose programs, sources and drivers have hostile names.
func fillHostile(t *testing.T, path string, current binary.Fingerprint) {
	t.Helper()
	dir, err := binary.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	other := binary.Fingerprint{Vendor: hostile, Renderer: hostile, Version: hostile, Formats: []uint32{1}, PointerBits: 64}
	src := shader.MustSource(hostile, "void main() {}", nil)
	for _, f := range []binary.Fingerprint{current, other} {
		store, err := dir.Store(f)
		if err != nil {
			t.Fatal(err)
		}
		blob := &binary.Blob{
			Key: src.Key(), Fingerprint: f.Digest(), Format: 1, Payload: []byte("none"), Name: hostile, WorkGroup: [3]uint32{1, 1, 1},
		}
		err = errors.Join(store.Put(blob), store.PutSource(src), store.PutFailure(shader.MustSource(hostile, "no", nil), hostile),
			store.PutCompiled([]*shader.Source{src}), store.Record(nil, binary.Counters{Starts: 1, Compiles: 1}), store.Close())
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(path, "sources", hostile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
