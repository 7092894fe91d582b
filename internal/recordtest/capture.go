package recordtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Captured returns, for each program that Mesa linked, the GLSL of its stages: what Mesa
// itself wrote to the folder MESA_SHADER_CAPTURE_PATH. Programs are texts, sorted.
func Captured(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.shader_test"))
	if err != nil {
		return nil, err
	}
	var programs []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program(captured(string(data))))
	}
	slices.Sort(programs)
	return programs, nil
}

// captured returns the texts of the sections "[... shader]". Mesa ends each with a line feed
// more than the text has.
func captured(file string) (texts []string) {
	var text strings.Builder
	inside := false
	end := func() {
		if inside {
			texts = append(texts, strings.TrimSuffix(text.String(), "\n"))
		}
		text.Reset()
	}
	for line := range strings.Lines(file) {
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, " shader]\n") {
			end()
			inside = true
			continue
		}
		text.WriteString(line)
	}
	end()
	return texts
}

// program joins the texts of a program, in an order of their own. Mesa reads a text up to a
// zero byte, and writes "(null)" for SPIR-V.
func program(texts []string) string {
	slices.Sort(texts)
	return strings.Join(texts, "\x00")
}

// Linked returns the programs of all links of a recording, as [Captured] does.
func (r Recording) Linked() (programs []string) {
	for _, process := range r.Processes {
		for _, digest := range process.Digests("link") {
			var texts []string
			for _, s := range r.Programs[digest].Stages {
				text, _, _ := strings.Cut(s.Text, "\x00")
				if s.SPIRV {
					text = "(null)"
				}
				texts = append(texts, text)
			}
			programs = append(programs, program(texts))
		}
	}
	slices.Sort(programs)
	return programs
}
