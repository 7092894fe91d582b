package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// claim is a sentence of a file that states figures of a log.
type claim struct {
	file, format string
	values       []any
}

// newClaim returns a sentence of a file.
func newClaim(file, format string, values ...any) claim { return claim{file, format, values} }

func (c claim) text() string { return fmt.Sprintf(c.format, c.values...) }

// state writes the figures of claims into their sentences, or with check only compares
// them. A sentence that is not in its file once, whatever its figures are, is an error.
func state(root string, claims []claim, check bool) error {
	var lost []string
	for _, c := range claims {
		path := filepath.Join(root, c.file)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(oneLine(string(data)), oneLine(c.text())) {
			continue
		}
		text, found := c.restated(string(data))
		if check || !found {
			lost = append(lost, fmt.Sprintf("%s does not contain: %s", c.file, c.text()))
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("figures in sentences differ from their logs:\n%s", strings.Join(lost, "\n"))
	}
	return nil
}

var (
	verb  = regexp.MustCompile(`%[0-9.]*[a-z%]`)
	space = regexp.MustCompile(`\s+`)
)

// number matches what a verb of a claim prints.
const number = `([0-9]+(?:[.,][0-9]+)*(?:e[-+][0-9]+)?)`

// restated returns a file's text with the claim's figures in its sentence, which is there
// once with others.
func (c claim) restated(text string) (string, bool) {
	verbs := []string{}
	literals := verb.Split(c.format, -1)
	pattern := sentence(literals[0])
	for i, v := range verb.FindAllString(c.format, -1) {
		if v == "%%" {
			pattern += "%"
		} else {
			pattern += number
			verbs = append(verbs, v)
		}
		pattern += sentence(literals[i+1])
	}
	matches := regexp.MustCompile(pattern).FindAllStringSubmatchIndex(text, -1)
	if len(matches) != 1 {
		return text, false
	}
	at := matches[0]
	for i := len(verbs) - 1; i >= 0; i-- {
		text = text[:at[2*i+2]] + fmt.Sprintf(verbs[i], c.values[i]) + text[at[2*i+3]:]
	}
	return text, true
}

// sentence returns the pattern of a part of a sentence, which lines may break anywhere.
func sentence(literal string) string {
	return space.ReplaceAllString(regexp.QuoteMeta(literal), `\s+`)
}

// oneLine returns text with every run of white space as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
