package startup

import (
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/shadercache/shadercache/shader"
)

// startup48Keys is the digest of the keys of startup48, in order: measurements from
// before and after a change compare only while the programs are the same.
const startup48Keys = "5579644460e4fc27cd6e2c6be2bd0cb63b831a13f314502a071b287232cac3b4"

func TestStartup48IsTheSameWorkload(t *testing.T) {
	programs, err := Programs(48, 32<<10)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, p := range programs {
		key := p.Source.Key()
		h.Write(key[:])
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != startup48Keys {
		t.Errorf("the keys have the digest %s: these are other programs", got)
	}
	if first, last := programs[0].Source.Name(), programs[47].Source.Name(); first != "gemm_t32_none_x1" || last != "gemm_t128_silu_x4" {
		t.Errorf("programs from %s to %s", first, last)
	}
}

func TestProgramsDiffer(t *testing.T) {
	for _, shared := range []int{9 << 10, 32 << 10, 48 << 10} {
		programs, err := Programs(48, shared)
		if err != nil {
			t.Fatal(err)
		}
		names, keys := map[string]bool{}, map[shader.Key]bool{}
		for _, p := range programs {
			names[p.Source.Name()], keys[p.Source.Key()] = true, true
		}
		if len(programs) != 48 || len(names) != 48 || len(keys) != 48 {
			t.Errorf("%d bytes: %d programs, %d names, %d keys", shared, len(programs), len(names), len(keys))
		}
	}
	if _, err := Programs(48, 1<<9); err == nil {
		t.Error("no error for half a kilobyte of shared memory")
	}
	if _, err := Programs(-1, 32<<10); err == nil {
		t.Error("no error for -1 programs")
	}
	for _, n := range []int{0, 1, 5, 100} {
		programs, err := Programs(n, 32<<10)
		if err != nil || len(programs) != n {
			t.Errorf("asked for %d: %d programs, %v", n, len(programs), err)
		}
	}
}

// The peer that calls nothing but the driver has the same texts.
func TestThePeerInOpenGLHasTheSameTexts(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	peer := filepath.Join(t.TempDir(), "startup-gl")
	if out, err := exec.Command(compiler, "-o", peer, "../../lab/bench/peers/startup/startup_gl.c", "-ldl", "-lm").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	programs, err := Programs(48, SharedBytes)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range programs {
		text, err := exec.Command(peer, "--text", "../../conv2d/kernels/gemm_tiled.comp", strconv.Itoa(i)).Output()
		if err != nil || string(text) != p.Source.Text() {
			t.Fatalf("%s has another text, %v:\n%.200s", p.Source.Name(), err, text)
		}
	}
}
