package file

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// Some file systems sync no folders, and say so. A disk that fails is no object that is missing.
func TestFolderThatIsNotSynced(t *testing.T) {
	if store := os.Getenv("STORE_WHOSE_FSYNC_FAILS"); store != "" {
		b := &backend{store}
		_, err := putText(b, "v1/a/head", "x", fleet.PutOptions{})
		fails := os.Getenv("FAILS") == "EIO"
		if errors.Is(err, fleet.ErrUnreachable) != fails || (err != nil) != fails {
			t.Error(err)
		}
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("a system call that fails takes strace")
	}
	for _, code := range []string{"EINVAL", "EOPNOTSUPP", "EIO"} {
		store := t.TempDir()
		folder := filepath.Join(store, "v1", "a")
		must(t, os.MkdirAll(folder, 0o700))
		child := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-o", "/dev/null", "-P", folder, "-e", "trace=fsync",
			"-e", "inject=fsync:error="+code, "--", os.Args[0], "-test.run=^TestFolderThatIsNotSynced$")
		child.Env = append(os.Environ(), "STORE_WHOSE_FSYNC_FAILS="+store, "FAILS="+code)
		out, err := child.CombinedOutput()
		if strings.Contains(string(out), "ptrace") {
			t.Skipf("strace cannot trace here: %s", out)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", code, err, out)
		}
		files, err := os.ReadDir(folder)
		if must(t, err); len(files) != 2 {
			t.Errorf("%s: the folder has %v", code, files)
		}
	}
}
