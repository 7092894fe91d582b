package tables

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A page names the log of figures that it states in a comment below them:
//
//	<!-- log h200/server-ring.txt
//	55 us; 39 us = socket-16.*?(\d+) p50-ns.*?ring-16.*?(\d+) p50-ns /1000
//	-->
//
// a line for each text of the page: its numbers are the groups of the pattern in the log, by
// the divisor, rounded as the text has them.
type pageFigure struct {
	log, text string
	pattern   *regexp.Regexp
	divisor   float64
}

var (
	logComment = regexp.MustCompile(`(?s)<!-- log (\S+)\n(.*?)\n-->`)
	anyComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	generated  = regexp.MustCompile(`(?s)<!-- [a-z0-9 ]+ -->\n.*?<!-- end -->`)
	aNumber    = regexp.MustCompile(`([0-9]+(?:[.,][0-9]+)*(?:e[-+][0-9]+)?)`)
	divided    = regexp.MustCompile(` /([0-9.]+)$`)
)

func pageFigures(t *testing.T, text string) (list []pageFigure) {
	for _, c := range logComment.FindAllStringSubmatch(text, -1) {
		for line := range strings.SplitSeq(c[2], "\n") {
			stated, pattern, found := strings.Cut(line, " = ")
			f := pageFigure{log: c[1], text: stated, divisor: 1}
			if d := divided.FindStringSubmatch(pattern); d != nil {
				f.divisor, _ = strconv.ParseFloat(d[1], 64)
				pattern = strings.TrimSuffix(pattern, d[0])
			}
			var err error
			if f.pattern, err = regexp.Compile("(?s)" + pattern); !found || err != nil {
				t.Fatalf("%s: %q: %v", c[1], line, err)
			}
			list = append(list, f)
		}
	}
	return list
}

// stated returns the text with the figures of the log.
func (f pageFigure) stated(log string) (string, error) {
	groups := f.pattern.FindStringSubmatch(log)
	numbers := aNumber.FindAllString(f.text, -1)
	if len(groups) != len(numbers)+1 {
		return "", fmt.Errorf("%d of the %d numbers are found in %s", max(len(groups)-1, 0), len(numbers), f.log)
	}
	at := 0
	return aNumber.ReplaceAllStringFunc(f.text, func(old string) string {
		at++
		v, err := strconv.ParseFloat(groups[at], 64)
		_, decimals, _ := strings.Cut(old, ".")
		if len(decimals) == 0 && strings.Contains(old, ",") {
			return thousands(v / f.divisor)
		} else if err != nil {
			return groups[at]
		}
		return strconv.FormatFloat(v/f.divisor, 'f', len(decimals), 64)
	}), nil
}

// pages returns the texts of README.md and of all pages below docs, by name.
func pages(t *testing.T) map[string]string {
	list := map[string]string{}
	read := func(name string) {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		list[filepath.ToSlash(name)] = string(data)
	}
	read(readme)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			name, _ := filepath.Rel(root, path)
			read(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Figures of pages are those of the logs that the pages name for them.
func TestFiguresOfPagesAreOfTheirLogs(t *testing.T) {
	figures := 0
	for name, text := range pages(t) {
		visible := oneLine(anyComment.ReplaceAllString(text, ""))
		for _, f := range pageFigures(t, text) {
			figures++
			log, err := os.ReadFile(filepath.Join(root, "docs", "logs", f.log))
			if err != nil {
				t.Error(err)
				continue
			}
			switch want, err := f.stated(string(log)); {
			case err != nil:
				t.Errorf("%s: %q: %v", name, f.text, err)
			case want != f.text:
				t.Errorf("%s has %q, and %s %q", name, f.text, f.log, want)
			case !strings.Contains(visible, oneLine(f.text)):
				t.Errorf("%s does not have %q", name, f.text)
			}
		}
	}
	if figures == 0 {
		t.Error("no page names a log")
	}
}

// Each figure of a table of the README or of measurements.md is generated, a claim, or has a
// log that the page names. The first column is no measurement.
func TestTablesHaveLogs(t *testing.T) {
	l := &logs{root: filepath.Join(root, "docs", "logs")}
	for name, text := range pages(t) {
		if name != readme && name != page {
			continue
		}
		var covered []string
		for _, f := range pageFigures(t, text) {
			covered = append(covered, f.text)
		}
		for _, c := range claims(l) {
			covered = append(covered, c.text())
		}
		slices.SortFunc(covered, func(a, b string) int { return len(b) - len(a) })
		text = anyComment.ReplaceAllString(generated.ReplaceAllString(text, ""), "")
		inTable := false
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") {
				inTable = false
				continue
			}
			if !inTable { // the head
				inTable = true
				continue
			}
			for _, c := range covered {
				line = strings.ReplaceAll(line, c, strings.Repeat("|", strings.Count(c, "|")))
			}
			for i, cell := range strings.Split(line, "|") {
				if i > 1 && measured(cell) {
					t.Errorf("%s: no log for %q in %s", name, strings.TrimSpace(cell), line)
				}
			}
		}
	}
}

// aFigure is a number with a unit, or with a decimal point: what a measurement looks like.
var aFigure = regexp.MustCompile(`(^|[ (])[0-9][0-9.,]*([eE][-+]?[0-9]+)? *(%|us|ns|ms|s|MiB|KiB|GB/s|jobs/s|/s|times)\b|[0-9]\.[0-9]|^ *[0-9][0-9.,]* *$`)

var code = regexp.MustCompile("`[^`]*`")

func measured(cell string) bool { return aFigure.MatchString(code.ReplaceAllString(cell, "")) }

var (
	aLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	aHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced   = regexp.MustCompile("(?s)```.*?```")
	noSlug   = regexp.MustCompile(`[^\pL\pN_ -]`)
)

// Each link of a page leads to a file that exists, and to a heading of it.
func TestLinksResolve(t *testing.T) {
	for name, text := range pages(t) {
		for _, m := range aLink.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			file, heading, _ := strings.Cut(m[1], "#")
			target := filepath.Join(root, filepath.Dir(name), file)
			if file == "" {
				target = filepath.Join(root, name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
			} else if heading != "" && !hasHeading(t, target, heading) {
				t.Errorf("%s: %s: there is no such heading", name, m[1])
			}
		}
	}
}

// A page that is read in one go has 250 lines at most, and the README 150. Specifications
// are as long as what they specify.
func TestPagesAreShort(t *testing.T) {
	for name, text := range pages(t) {
		most := 250
		switch name {
		case readme:
			most = 150
		case "docs/format.md", "docs/protocol.md":
			continue
		}
		if n := strings.Count(text, "\n"); n > most {
			t.Errorf("%s has %d lines, and %d at most", name, n, most)
		}
	}
}

// hasHeading reports whether a page has a heading by the name that links give it.
func hasHeading(t *testing.T, file, slug string) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range aHeading.FindAllStringSubmatch(fenced.ReplaceAllString(string(data), ""), -1) {
		if strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == slug {
			return true
		}
	}
	return false
}

// The table of docs/design.md has each package that others can import.
func TestDesignNamesEachPackage(t *testing.T) {
	table, _, _ := strings.Cut(pages(t)["docs/design.md"], "Imports go one way")
	lab, err := os.ReadFile(filepath.Join(root, "lab/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	table += string(lab)
	packages := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, filepath.Dir(path))
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() != ".." && strings.HasPrefix(d.Name(), "."), d.IsDir() && slices.Contains([]string{"internal", "examples", "testdata"}, d.Name()):
			return filepath.SkipDir
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") && name != ".":
			packages++
			if !strings.Contains(table, "`"+name+"`") {
				t.Errorf("neither docs/design.md nor lab/README.md names %s", name)
				return filepath.SkipDir
			}
		}
		return nil
	})
	if err != nil || packages < 30 {
		t.Errorf("%d files, %v", packages, err)
	}
}
