package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/osfile"
)

const examples = "../../docs/examples"

// exampleFleet is a remote and the machines of the examples, each with a cache of its own.
type exampleFleet struct {
	*testing.T
	work  string
	paths *strings.Replacer // what the examples name, and where it is here
}

func newExampleFleet(t *testing.T) *exampleFleet {
	gltest.Open(t) // skips or fails where there is no driver
	f := &exampleFleet{T: t, work: t.TempDir()}
	f.paths = strings.NewReplacer(
		"https://cache.example.com/app", "file://"+filepath.Join(f.work, "store"),
		"/etc/shadercache/", f.work+"/",
		"/opt/shadercache", filepath.Join(f.work, "image"),
		"/var/cache/shaders", filepath.Join(f.work, "image"), // the image volume
		"/run/shadercache", filepath.Join(f.work, "private"),
		"/var/cache/app", filepath.Join(f.work, "service"),
		"/usr/bin/shadercache", "shadercache",
		"${{ secrets.SHADERCACHE_SIGN_KEY }}", f.text("fleet.key"),
	)
	for _, folder := range []string{"store", "private", "service", "home", "temp", "kernels"} {
		if err := os.Mkdir(filepath.Join(f.work, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := "#version 430\nlayout(local_size_x = 1) in;\nbuffer B { float b[]; };\nvoid main() { b[0] += 1.0; }\n"
	for name, data := range map[string]string{"kernels/add.comp": text, "kernels/multiply.comp": strings.ReplaceAll(text, "+=", "*=")} {
		if err := os.WriteFile(filepath.Join(f.work, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// text makes the keys, and returns the private one.
func (f *exampleFleet) text(file string) string {
	if out, err := exec.Command("shadercache", "keygen", filepath.Join(f.work, file)).CombinedOutput(); err != nil {
		f.Fatalf("%v\n%s", err, out)
	}
	key, err := os.ReadFile(filepath.Join(f.work, file))
	if err != nil {
		f.Fatal(err)
	}
	return string(key)
}

// commandEnvironment returns the environment of a command without the settings of caches
// that other tests of this process make.
func commandEnvironment() (kept []string) {
	for _, name := range []string{"PATH", "TMPDIR", "LD_LIBRARY_PATH", "__EGL_VENDOR_LIBRARY_FILENAMES", "EGL_PLATFORM", "GORACE"} {
		if value, set := os.LookupEnv(name); set {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// run runs a script of an example on one of the machines, and returns what it printed.
func (f *exampleFleet) run(machine, script string, environment ...string) string {
	f.Helper()
	cmd := exec.Command("sh", "-ec", f.paths.Replace(script))
	cmd.Dir = f.work
	cmd.Env = commandEnvironment()
	cmd.Env = append(cmd.Env, "HOME="+filepath.Join(f.work, "home", machine), "RUNNER_TEMP="+filepath.Join(f.work, "temp"))
	for _, setting := range environment {
		cmd.Env = append(cmd.Env, f.paths.Replace(setting))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// read returns an example.
func (f *exampleFleet) read(name string) []byte {
	data, err := os.ReadFile(filepath.Join(examples, name))
	if err != nil {
		f.Fatal(err)
	}
	return data
}

// The commands of docs/examples are run as they are printed there, on a remote and
// directories of this test: one pushes, and three that never compiled start warm.
func TestExamples(t *testing.T) {
	t.Parallel()
	f := newExampleFleet(t)
	f.checkWorkflow()
	f.checkDockerfile()
	f.checkPod()
	f.checkService()
	tested := []string{"Dockerfile", "app.service", "github-actions.yml", "kubernetes-pod.yaml",
		"programs",                                  // by TestProgramsPage
		"shadercache.service", "shadercache.socket"} // by TestUnits
	var found []string
	for _, e := range osfile.List(examples) {
		found = append(found, e.Name())
	}
	if slices.Sort(found); !slices.Equal(found, tested) {
		t.Errorf("docs/examples has %v, and %v are tested", found, tested)
	}
}

// workflow is what the test reads of a workflow of GitHub.
type workflow struct {
	Env  map[string]string
	Jobs map[string]struct {
		RunsOn []string `yaml:"runs-on"`
		Needs  string
		Env    map[string]string
		Steps  []struct {
			Uses, Name, Run string
			Env             map[string]string
		}
	}
}

func (f *exampleFleet) checkWorkflow() {
	var w workflow
	if err := yaml.Unmarshal(f.read("github-actions.yml"), &w); err != nil {
		f.Fatal(err)
	}
	if len(w.Jobs) != 2 || w.Jobs["test"].Needs != "warm" {
		f.Fatalf("%+v", w)
	}
	for _, name := range []string{"warm", "test"} {
		out, environment := "", append(settings(w.Env), settings(w.Jobs[name].Env)...)
		for _, step := range w.Jobs[name].Steps {
			if step.Run != "" {
				out += f.run(name, step.Run, append(environment, settings(step.Env)...)...)
			}
		}
		want := "2 compiled"
		if name == "test" {
			want = "0 compiled"
		}
		if !strings.Contains(out, want) {
			f.Errorf("the job %s does not print %q:\n%s", name, want, out)
		}
	}
	if left, err := os.ReadDir(filepath.Join(f.work, "temp")); err != nil || len(left) > 0 {
		f.Errorf("the private key is left: %v, %v", left, err)
	}
}

func settings(environment map[string]string) (list []string) {
	for name, value := range environment {
		list = append(list, name+"="+value)
	}
	return list
}

// checkDockerfile runs the commands of the Dockerfile that call shadercache.
func (f *exampleFleet) checkDockerfile() {
	text := strings.ReplaceAll(string(f.read("Dockerfile")), "\\\n", " ")
	commands := 0
	for line := range strings.Lines(text) {
		if script, found := strings.CutPrefix(line, "RUN shadercache "); found {
			commands++
			f.run("docker", "shadercache "+script, "REMOTE=https://cache.example.com/app")
		}
	}
	if commands != 2 {
		f.Errorf("the Dockerfile has %d commands", commands)
	}
}

// pod is what the test reads of a pod.
type pod struct {
	Kind string
	Spec struct {
		Containers []struct {
			Env          []struct{ Name, Value string }
			VolumeMounts []struct{ Name, MountPath string } `yaml:"volumeMounts"`
		}
		Volumes []struct {
			Name  string
			Image struct{ Reference, PullPolicy string }
		}
	}
}

// checkPod starts with the environment of the pod, and the image of the Dockerfile.
func (f *exampleFleet) checkPod() {
	var p pod
	if err := yaml.Unmarshal(f.read("kubernetes-pod.yaml"), &p); err != nil {
		f.Fatal(err)
	}
	if len(p.Spec.Containers) != 1 || len(p.Spec.Volumes) != 2 || p.Spec.Volumes[0].Image.Reference == "" {
		f.Fatalf("%+v", p)
	}
	c, mounts := p.Spec.Containers[0], map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	var environment []string
	for _, e := range c.Env {
		environment = append(environment, e.Name+"="+e.Value)
		if !slices.ContainsFunc([]string{mounts["shaders"], mounts["private"]}, func(m string) bool { return strings.HasPrefix(e.Value, m) }) {
			f.Errorf("%s=%s is on no volume", e.Name, e.Value)
		}
	}
	if out := f.run("pod", "shadercache preload --no-isolate kernels/", environment...); !strings.Contains(out, "0 compiled") {
		f.Errorf("the pod:\n%s", out)
	}
}

// checkService runs what the unit runs before the application, then a start.
func (f *exampleFleet) checkService() {
	unit := string(f.read("app.service"))
	var environment []string
	before := ""
	for line := range strings.Lines(unit) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "Environment":
			environment = append(environment, value)
		case "ExecStartPre":
			before = strings.TrimPrefix(value, "-")
		}
	}
	if out := f.run("service", before, environment...); !strings.Contains(out, "2 programs and") {
		f.Errorf("the service pulls:\n%s", out)
	}
	if out := f.run("service", "SHADERCACHE_REMOTE_MODE=off shadercache preload kernels/", environment...); !strings.Contains(out, "0 compiled") {
		f.Errorf("the service starts:\n%s", out)
	}
	f.verifyUnit(unit)
}

// verifyUnit checks the unit with systemd's own tool, where that is installed.
func (f *exampleFleet) verifyUnit(unit string) {
	systemd, err := exec.LookPath("systemd-analyze")
	if err != nil {
		f.Log("systemd-analyze is not installed: the unit was not checked by it")
		return
	}
	file := filepath.Join(f.work, "app.service")
	unit = strings.NewReplacer("/usr/bin/app", "/bin/true", "/usr/bin/shadercache", "/bin/true").Replace(unit)
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		f.Fatal(err)
	}
	if out, err := exec.Command(systemd, "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
		f.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
