//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/drivercache"
)

// hostileNames are names of cache directories that a language may take for its own.
var hostileNames = []string{
	"plain",
	"it's",
	`a "quoted" word`,
	`back\slash\`,
	"$HOME ${PATH} $(id) `id`",
	"100% %h %%n",
	"wow! !! !1",
	"#comment; ls & | < > * ? [a] {b,c} ~",
	"two  spaces\tand a tab",
	" begins and ends ",
	"\u00e9\u4e16\U0001F600",
	"A=B",
	"-dash",
	"$$(VAR) $$ \\$ ''",
}

// notText are names that only formats for shells can express.
var notText = []string{"two\nlines", "latin1 \xe9"}

// TestEnvInTheRealLanguages has each language read what env prints for it, and compares
// the environment that results with that of exec.
func TestEnvInTheRealLanguages(t *testing.T) {
	work := t.TempDir()
	names, want := slices.Concat(hostileNames, notText), map[string]map[string]string{}
	for _, name := range names {
		dir := filepath.Join(work, name)
		want[dir] = execEnvironment(t, dir)
	}
	for format, read := range map[string]func(t *testing.T, dirs []string) []map[string]string{
		"sh":         shellReader("sh", "-c", `eval "$(shadercache --dir "$CACHE" env)"; env -0`),
		"bash":       shellReader("bash", "-c", `eval "$(shadercache --dir "$CACHE" env --format sh)"; env -0`),
		"fish":       shellReader("fish", "--no-config", "-c", `shadercache --dir $CACHE env --format fish | source; env -0`),
		"csh":        shellReader("csh", "-f", "-c", "setenv SHADERCACHE_DIR $CACHE:q; eval \"`shadercache env --format csh`\"; env -0"),
		"csh file":   shellReader("csh", "-f", "-c", `shadercache --dir $CACHE:q env --format csh > out.csh; source out.csh; env -0`),
		"systemd":    systemdReader,
		"docker":     dockerReader,
		"env-file":   each(envFileReader),
		"kubernetes": kubernetesReader,
	} {
		t.Run(format, func(t *testing.T) {
			var dirs []string
			for _, name := range names {
				if !slices.Contains(notText, name) || format == "sh" || format == "bash" || format == "fish" {
					dirs = append(dirs, filepath.Join(work, name))
				}
			}
			for i, got := range read(t, dirs) {
				want := want[dirs[i]]
				maps.DeleteFunc(got, func(name, _ string) bool { _, wanted := want[name]; return !wanted && !cacheVariable(name) })
				if !maps.Equal(got, want) {
					t.Errorf("%q:\ngot  %q\nwant %q", dirs[i], got, want)
				}
			}
		})
	}
}

func cacheVariable(name string) bool {
	return strings.HasPrefix(name, "MESA_") || strings.HasPrefix(name, "__GL_") || strings.HasPrefix(name, "SHADERCACHE_")
}

// cleanEnvironment is the environment of a shell without variables of drivers.
func cleanEnvironment(extra ...string) []string {
	clean := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return cacheVariable(name)
	})
	return append(clean, extra...)
}

// environmentOf runs a command that prints its environment, each variable with a zero byte
// behind it.
func environmentOf(t *testing.T, cmd *exec.Cmd) map[string]string {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
	}
	all := map[string]string{}
	for _, v := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	return all
}

// execEnvironment returns the variables that exec sets.
func execEnvironment(t *testing.T, dir string) map[string]string {
	t.Helper()
	cmd := exec.Command("shadercache", "--dir", dir, "exec", "--", "env", "-0")
	cmd.Env = cleanEnvironment()
	all := environmentOf(t, cmd)
	maps.DeleteFunc(all, func(name, _ string) bool { return !cacheVariable(name) })
	if len(all) < 10 || all["SHADERCACHE_DIR"] != dir {
		t.Fatalf("exec sets %q", all)
	}
	return all
}

// each returns the results of read for each directory.
func each(read func(*testing.T, string) map[string]string) func(*testing.T, []string) []map[string]string {
	return func(t *testing.T, dirs []string) (all []map[string]string) {
		for _, dir := range dirs {
			all = append(all, read(t, dir))
		}
		return all
	}
}

// shellReader returns a reader that runs a shell, with the directory in $CACHE.
func shellReader(shell string, arguments ...string) func(*testing.T, []string) []map[string]string {
	return each(func(t *testing.T, dir string) map[string]string {
		if _, err := exec.LookPath(shell); err != nil {
			t.Skip(err)
		}
		cmd := exec.Command(shell, arguments...)
		cmd.Dir, cmd.Env = t.TempDir(), cleanEnvironment("CACHE="+dir)
		return environmentOf(t, cmd)
	})
}

// envTexts returns what env prints for each directory.
func envTexts(t *testing.T, dirs []string, format string) (texts []string) {
	for _, dir := range dirs {
		texts = append(texts, envText(t, dir, format))
	}
	return texts
}

// envText returns what env prints for another environment. The shells read it from a process.
func envText(t *testing.T, dir, name string) string {
	t.Helper()
	o := &options{cli.Options{Dir: dir, DriverCache: true, Stdout: io.Discard, Stderr: io.Discard}}
	format, err := findEnvFormat(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.env(format)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r.Text
}

// pythonReader runs a program in Python that has a function read, of a text to a
// dictionary, and returns its results for some texts.
func pythonReader(t *testing.T, program, needs string, texts []string) (all []map[string]string) {
	t.Helper()
	if exec.Command("python3", "-c", needs).Run() != nil {
		t.Skip("Python lacks this: " + needs)
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-c", program+"\nimport json, sys\nprint(json.dumps([read(text) for text in json.load(sys.stdin)]))\n")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &all) != nil || len(all) != len(texts) {
		t.Fatalf("%v\n%s", err, out)
	}
	return all
}

// parseWithSystemd calls the function of systemd that reads Environment=.
const parseWithSystemd = `
import ctypes, glob
ctypes.CDLL(glob.glob('/usr/lib/*/systemd/libsystemd-shared-*.so')[0], mode=ctypes.RTLD_GLOBAL)
core = ctypes.CDLL(glob.glob('/usr/lib/*/systemd/libsystemd-core-*.so')[0], mode=ctypes.RTLD_GLOBAL)
def read(text):
    env = ctypes.POINTER(ctypes.c_char_p)()
    for n, line in enumerate(text.split('\n')):
        if not line or line[0] in '#;':
            continue
        key, value = line.split('=', 1)
        assert key == 'Environment', line
        r = core.config_parse_environ(None, b'x.service', n + 1, b'Service', 1, key.encode(), 0, value.encode(), ctypes.byref(env), None)
        assert r >= 0, (line, r)
    out, i = {}, 0
    while env and env[i]:
        k, v = env[i].decode().split('=', 1)
        out[k] = v
        i += 1
    return out
`

func systemdReader(t *testing.T, dirs []string) []map[string]string {
	texts := envTexts(t, dirs, "systemd")
	one := slices.IndexFunc(dirs, func(dir string) bool { return strings.Contains(dir, "%h") }) // since it takes a second
	analyze, err := exec.LookPath("systemd-analyze")
	if err == nil {
		text := texts[one]
		unit := filepath.Join(t.TempDir(), "app.service")
		if err := os.WriteFile(unit, []byte("[Service]\nExecStart=/bin/true\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(analyze, "verify", "--user", unit)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "app.service") {
			t.Errorf("systemd-analyze: %v\n%s", err, out)
		}
	}
	return pythonReader(t, parseWithSystemd, "import glob; glob.glob('/usr/lib/*/systemd/libsystemd-core-*.so')[0]", texts)
}

// dockerReader builds an image with buildah, which parses Dockerfiles with Docker's code. Names
// begin with the number of their directory, since an image takes a second.
func dockerReader(t *testing.T, dirs []string) []map[string]string {
	buildah, err := exec.LookPath("buildah")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("buildah is not installed, or this is not root: ", err)
	}
	work, file, all := t.TempDir(), "FROM scratch\n", make([]map[string]string, len(dirs))
	for i, text := range envTexts(t, dirs, "docker") {
		file += strings.ReplaceAll(text, "\nENV ", fmt.Sprintf("\nENV D%d_", i))
		all[i] = map[string]string{}
	}
	if err := os.WriteFile(filepath.Join(work, "Dockerfile"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(arguments ...string) []byte {
		global := []string{"--root", filepath.Join(work, "root"), "--runroot", filepath.Join(work, "run"), "--storage-driver", "vfs"}
		out, err := exec.Command(buildah, append(global, arguments...)...).Output()
		if err != nil {
			t.Fatalf("buildah %q: %v", arguments, err)
		}
		return out
	}
	run("bud", "--isolation", "chroot", "-q", "-t", "app", work)
	var image struct {
		OCIv1 struct {
			Config struct{ Env []string } `json:"config"`
		}
	}
	if err := json.Unmarshal(run("inspect", "--type", "image", "app"), &image); err != nil {
		t.Fatal(err)
	}
	for _, v := range image.OCIv1.Config.Env {
		name, value, _ := strings.Cut(v, "=")
		var i int
		if _, err := fmt.Sscanf(name, "D%d_%s", &i, &name); err == nil { // not PATH
			all[i][name] = value
		}
	}
	return all
}

// envFileReader reads lines as docker run does: a # begins a comment where it begins the
// line, and a value is what follows the first =, as it is.
func envFileReader(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(envText(t, dir, "env-file")) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "#") {
			name, value, _ := strings.Cut(line, "=")
			all[name] = value
		}
	}
	return all
}

// kubernetesReader reads YAML, and then expands values as Kubernetes does: $$ is $, and
// $(NAME) a variable.
func kubernetesReader(t *testing.T, dirs []string) []map[string]string {
	const program = "import yaml\ndef read(text): return {e['name']: e['value'] for e in yaml.safe_load(text.encode())['env']}"
	all := pythonReader(t, program, "import yaml", envTexts(t, dirs, "kubernetes"))
	for _, values := range all {
		for name, value := range values {
			if strings.Contains(strings.ReplaceAll(value, "$$", ""), "$") {
				t.Errorf("%s has a $ that Kubernetes may expand: %q", name, value)
			}
			values[name] = strings.ReplaceAll(value, "$$", "$")
		}
	}
	return all
}

// What a format cannot express is an error, and nothing is printed.
func TestEnvRefusesValuesThatAFormatLacks(t *testing.T) {
	for _, format := range envFormats {
		for _, name := range append(notText, "bell\a") {
			binaryName := name != notText[0]
			if format.lines || format.binary && binaryName || format.binary && format.lines {
				continue
			}
			cmd := exec.Command("shadercache", "--dir", "/cache/"+name, "env", "--format", format.name)
			cmd.Env = cleanEnvironment()
			out, err := cmd.Output()
			if err == nil || len(out) > 0 {
				t.Errorf("%s, %q: %v\n%s", format.name, name, err, out)
			}
		}
	}
}

// Variables of the user stay in a shell, with a message; other environments get all.
func TestEnvKeepsVariablesOfTheUser(t *testing.T) {
	dir := t.TempDir()
	run := func(arguments ...string) (r envResult, stderr string) {
		var log strings.Builder
		cmd := exec.Command("shadercache", append([]string{"--dir", dir, "env", "--json"}, arguments...)...)
		cmd.Env, cmd.Stderr = cleanEnvironment("MESA_SHADER_CACHE_DIR=/users", "__GL_SHADER_DISK_CACHE=1"), &log
		out, err := cmd.Output()
		if err != nil || json.Unmarshal(out, &r) != nil {
			t.Fatalf("%v\n%s%s", err, out, log.String())
		}
		return r, log.String()
	}
	has := func(r envResult, name string) bool {
		return slices.ContainsFunc(r.Variables, func(v envVariable) bool { return v.Name == name })
	}
	r, stderr := run()
	if has(r, "MESA_SHADER_CACHE_DIR") || has(r, "__GL_SHADER_DISK_CACHE") || !has(r, "MESA_DISK_CACHE_MULTI_FILE") ||
		!slices.Equal(r.Kept, []string{"MESA_SHADER_CACHE_DIR=/users"}) || !strings.Contains(stderr, "left as it is: MESA_SHADER_CACHE_DIR=/users") {
		t.Errorf("%+v\n%s", r, stderr)
	}
	if r, _ := run("--format", "kubernetes"); !has(r, "MESA_SHADER_CACHE_DIR") || len(r.Kept) > 0 || !strings.Contains(r.Text, "/driver/mesa") {
		t.Errorf("%+v", r)
	}
	if r, _ := run("--format", "docker", "--driver-cache", "off"); len(r.Variables) != 1 || r.Variables[0].Name != "SHADERCACHE_DIR" {
		t.Errorf("%+v", r)
	}
}

// The list is that of package drivercache, in its order.
func TestEnvHasTheListOfDriverCache(t *testing.T) {
	o := &options{cli.Options{Dir: "/cache", DriverCache: true, Stdout: io.Discard, Stderr: io.Discard}}
	format, err := findEnvFormat("docker")
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.env(format)
	if err != nil {
		t.Fatal(err)
	}
	settings, _ := drivercache.Settings("/cache/driver", func(string) (string, bool) { return "", false })
	want := []envVariable{{"SHADERCACHE_DIR", "/cache"}}
	for _, v := range settings {
		want = append(want, envVariable(v))
	}
	if !slices.Equal(r.Variables, want) {
		t.Errorf("got %v, want %v", r.Variables, want)
	}
	for _, entry := range []string{"docker", "env-file", "systemd", "kubernetes"} {
		out, err := exec.Command("shadercache", "env", "--format", entry).CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || !strings.Contains(string(out), "--dir") {
			t.Errorf("%s without --dir: %v\n%s", entry, err, out)
		}
	}
}
