package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// A driver that crashed as it made the last contexts is not tried by doctor, which would
// print nothing then.
func TestExamineADriverThatCrashes(t *testing.T) {
	gltest.Open(t)
	t.Setenv("SHADERCACHE_UPSTREAM", "")
	dir := t.TempDir()
	opening := filepath.Join(dir, "opening")
	if err := os.Mkdir(opening, 0o700); err != nil {
		t.Fatal(err)
	}
	for deaths, want := range []string{"", LevelNote, LevelWrong} {
		if deaths > 0 {
			path := filepath.Join(opening, fmt.Sprintf("%d-0", deaths))
			if err := os.WriteFile(path, []byte("+ open "+strings.Repeat("0", 64)+" \"\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := Report{}
		d, err := binary.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if examined := r.examineOpening(d); examined != (deaths < 2) || level(&r, "context") != want {
			t.Errorf("%d deaths: %v, %+v", deaths, examined, r)
		}
	}
	r := Examine(&cli.Options{Dir: dir, Stderr: os.Stderr})
	if r.Good || level(r, "driver") != "" {
		t.Errorf("%+v", r)
	}
}
