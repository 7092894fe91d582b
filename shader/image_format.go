package shader

import (
	"regexp"
	"strings"
)

// ImageFormats returns the format qualifiers of the image uniforms that the text
// declares, such as "rgba8", by the uniform's name: GL does not report them. Macros
// that the text defines once are replaced. A uniform that is declared with several
// formats, in branches of #if, is omitted.
func (s *Source) ImageFormats() map[string]string {
	declared := map[string]string{}
	statements, macros := imageStatements(s.text)
	for _, statement := range statements {
		format := formatQualifier(statement, macros)
		m := imageDeclaration.FindStringSubmatch(statement)
		for _, name := range strings.Split(m[1], ",") {
			name = strings.TrimSpace(strings.SplitN(name, "[", 2)[0])
			if old, again := declared[name]; again && old != format {
				format = ""
			}
			declared[name] = format
		}
	}
	for name, format := range declared {
		if format == "" {
			delete(declared, name)
		}
	}
	return declared
}

var (
	imageDeclaration = regexp.MustCompile(`\b[iu]?image(?:[123]D|Cube|2DRect|Buffer)\w*\s+(\w[\w\s,\[\]+*-]*)$`)
	layoutQualifier  = regexp.MustCompile(`\blayout\s*\(([^)]*)\)`)
	uniformWord      = regexp.MustCompile(`\buniform\b`)
	macroDefinition  = regexp.MustCompile(`^(\w+)\s+(\w+)$`)
)

// imageStatements returns the declarations of image uniforms, and the macros that
// stand for one word.
func imageStatements(text string) (statements []string, macros map[string]string) {
	macros = map[string]string{}
	var code strings.Builder
	for s := NewScanner(text); s.Next(); {
		name, operands := s.directive()
		if m := macroDefinition.FindStringSubmatch(operands); name == "define" && m != nil {
			if old, again := macros[m[1]]; again && old != m[2] {
				m[2] = "" // defined in branches
			}
			macros[m[1]] = m[2]
		}
		if name == "" {
			code.WriteString(s.Code())
			code.WriteByte(' ')
		}
	}
	ends := func(r rune) bool { return strings.ContainsRune(";{}", r) }
	for _, statement := range strings.FieldsFunc(code.String(), ends) {
		statement = strings.TrimSpace(statement)
		if uniformWord.MatchString(statement) && imageDeclaration.MatchString(statement) {
			statements = append(statements, statement)
		}
	}
	return statements, macros
}

// formatQualifier returns the format of a declaration, or "". It is the one layout
// qualifier of an image that has no value.
func formatQualifier(statement string, macros map[string]string) string {
	for _, layout := range layoutQualifier.FindAllStringSubmatch(statement, -1) {
		for _, word := range strings.Split(layout[1], ",") {
			word = strings.TrimSpace(word)
			if value, defined := macros[word]; defined {
				word = value
			}
			if word != "" && !strings.Contains(word, "=") {
				return word
			}
		}
	}
	return ""
}
