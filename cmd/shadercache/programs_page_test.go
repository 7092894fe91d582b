//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/glctx/gltest"
)

const programsPage = "../../docs/programs.md"

// pageBlock is one block of commands of a page, for one machine.
type pageBlock struct{ section, machine, script string }

var blockStart = regexp.MustCompile("^```sh ([a-z]+)$")

// pageBlocks returns the blocks of a page whose fence is "```sh MACHINE".
func pageBlocks(t *testing.T, page string) (blocks []pageBlock) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var section string
	var open *pageBlock
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch m := blockStart.FindStringSubmatch(line); {
		case open != nil && line == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.script += line + "\n"
		case m != nil:
			open = &pageBlock{section: section, machine: m[1]}
		case strings.HasPrefix(line, "## "), strings.HasPrefix(line, "### "):
			section = strings.TrimLeft(line, "# ")
		}
	}
	return blocks
}

// pagePrograms makes a folder with the programs of the page: app.py, and engine.
func pagePrograms(t *testing.T, work string) {
	source := filepath.Join(examples, "programs")
	app, err := os.ReadFile(filepath.Join(source, "app.py"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "app.py"), app, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("cc", "-o", filepath.Join(work, "engine"), filepath.Join(source, "engine.c"), "-lEGL", "-lOpenGL").CombinedOutput()
	if err != nil {
		t.Skipf("engine.c is not compiled: %v\n%s", err, out)
	}
	if out, err := exec.Command("/usr/bin/python3", "-c", "import moderngl").CombinedOutput(); err != nil {
		t.Skipf("python3-moderngl is not installed: %v\n%s", err, out)
	}
}

// The commands of docs/programs.md are run as they are printed there, each on the machine
// that its block names, which has a home of its own. Machines that did not record start
// warm: the driver adds nothing to its cache.
func TestProgramsPage(t *testing.T) {
	gltest.Open(t)
	work := t.TempDir()
	pagePrograms(t, work)
	if out, err := exec.Command("shadercache", "keygen", filepath.Join(work, "fleet.key")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	paths := strings.NewReplacer("/opt/shadercache", filepath.Join(work, "image"), "file:///srv/packs", "file://"+work+"/packs",
		"python3 ", "/usr/bin/python3 ")
	for _, folder := range []string{"packs", "image", "recorder"} {
		if err := os.Mkdir(filepath.Join(work, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	isMesa := strings.Contains(gltest.Open(t).Info().Driver, "Mesa")
	sections := map[string]int{}
	for n, b := range pageBlocks(t, programsPage) {
		home := filepath.Join(work, strings.ReplaceAll(strings.ToLower(b.section), " ", "-"), b.machine)
		if err := os.MkdirAll(filepath.Join(home, ".cache"), 0o700); err != nil {
			t.Fatal(err)
		}
		// The recorder is compiled once, not for each home.
		_ = os.Symlink(filepath.Join(work, "recorder"), filepath.Join(home, ".cache", "shadercache-record"))
		for command := range strings.Lines(b.script) {
			name := fmt.Sprintf("block %d, %s on %s: %s", n, b.section, b.machine, command)
			before := mesa.CountEntries(home)
			cmd := exec.Command("bash", "-ec", paths.Replace(command))
			cmd.Dir = work
			cmd.Env = append(commandEnvironment(), "HOME="+home, "XDG_RUNTIME_DIR="+home)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			t.Logf("%s%s", name, out)
			replayed := b.machine != "builder" && (strings.Contains(command, " -- ") && !strings.Contains(command, "--record") || strings.Contains(command, "shadercache env"))
			// Mesa keeps a file for each entry. A pod copies them from its image first.
			if added := mesa.CountEntries(home) - before; replayed && isMesa && added > 0 && b.machine != "pod" {
				t.Errorf("%s: the driver added %d entries\n%s", name, added, out)
			}
			if replayed {
				sections[b.section]++
			}
		}
	}
	for _, section := range []string{"Run it, and ship the cache", "Python", "Engines", "Embedders", "Containers"} {
		if sections[section] == 0 {
			t.Errorf("the section %s starts no program", section)
		}
	}
}
