package main

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/servers"
)

// The commands work with a real web server that only one user may write to, and print the
// password of that user nowhere.
func TestRemoteOnAWebServer(t *testing.T) {
	t.Parallel()
	gltest.Open(t) // skips or fails where there is no driver
	const password = "dr0wssap"
	server := servers.StartNginx(t, servers.NginxOptions{User: "ci", Password: password})
	work := t.TempDir()
	shader := "#version 430\nlayout(local_size_x = 1) in;\nbuffer B { float b[]; };\nvoid main() { b[0] += 1.0; }\n"
	if err := os.WriteFile(filepath.Join(work, "add.comp"), []byte(shader), 0o600); err != nil {
		t.Fatal(err)
	}
	public, writers := *server.URL, *server.URL
	writers.User = url.UserPassword("ci", password)
	run := func(dir string, wantCode int, args ...string) string {
		t.Helper()
		cmd := exec.Command("shadercache", args...)
		cmd.Dir = work
		cmd.Env = append(commandEnvironment(), "HOME="+work, "SHADERCACHE_DIR="+filepath.Join(work, dir))
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != wantCode {
			t.Errorf("%q: exit code %d\n%s", args, code, out)
		}
		if strings.Contains(string(out), password) {
			t.Errorf("%q prints the password:\n%s", args, out)
		}
		return string(out)
	}
	run("a", 0, "keygen", "fleet.key")
	run("a", 0, "preload", "add.comp")
	if out := run("a", 1, "push", "--sign", "fleet.key", public.String(), "--json"); !strings.Contains(out, `"code":"remote_denied"`) {
		t.Errorf("a push without credentials:\n%s", out)
	}
	run("a", 0, "push", "--log-level", "debug", "--sign", "fleet.key", writers.String())
	run("a", 0, "remote", "status", "--log-level", "debug", "--verify", "fleet.key.pub", writers.String())
	run("b", 0, "pull", "--verify", "fleet.key.pub", public.String())
	run("c", 0, "pull", "--verify", "fleet.key.pub", "--any-driver", public.String())
	var list remoteListResult
	out := run("b", 0, "remote", "list", "--verify", "fleet.key.pub", public.String(), "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Heads) != 1 || list.Remote != public.String() {
		t.Errorf("%v, %+v", err, list)
	}
	nothing := public
	nothing.Path += "/nothing"
	if out := run("d", 1, "pull", "--verify", "fleet.key.pub", nothing.String()); !strings.Contains(out, "has no pack for this driver") {
		t.Errorf("an empty remote:\n%s", out)
	}
}
