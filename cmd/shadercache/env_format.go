package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// envFormat is a language in which env prints variables. Values are paths and numbers; a
// path may have any byte but NUL.
//
//	format      a value is                        escaped
//	sh          in single quotes                  ' as '\''
//	fish        in single quotes                  \ and ' by \
//	csh         in single quotes                  ' as '\'', ! by \
//	systemd     in double quotes, systemd.exec(5)  \ and " by \, % by %
//	docker      in double quotes, ENV              \, " and $ by \
//	env-file    as it is                           nothing: a value may have no line end
//	kubernetes  a double-quoted YAML scalar        \ and " by \, and $ by $, which expands $(NAME)
type envFormat struct {
	name string
	here bool // for the shell that runs the command

	line    string   // of a name and a value
	escaped []string // pairs: what is replaced in values, and by what
	comment string   // begins a comment; "" = none
	begin   string   // before the first variable
	binary  bool     // values may have bytes that are no text
	lines   bool     // values may have line ends
}

// The first format is the default.
var envFormats = []envFormat{
	{name: "sh", here: true, binary: true, lines: true, line: "export %s='%s'\n", escaped: []string{`'`, `'\''`}},
	{name: "fish", here: true, binary: true, lines: true, line: "set -gx %s '%s'\n", escaped: []string{`\`, `\\`, `'`, `\'`}},
	{name: "csh", here: true, binary: true, line: "setenv %s '%s';\n", escaped: []string{`'`, `'\''`, `!`, `\!`}},
	{name: "systemd", comment: "#", line: "Environment=\"%s=%s\"\n", escaped: []string{`\`, `\\`, `"`, `\"`, `%`, `%%`}},
	{name: "docker", comment: "#", line: "ENV %s=\"%s\"\n", escaped: []string{`\`, `\\`, `"`, `\"`, `$`, `\$`}},
	{name: "env-file", comment: "#", line: "%s=%s\n"},
	{name: "kubernetes", comment: "#", begin: "env:\n", line: "- name: %s\n  value: \"%s\"\n",
		escaped: []string{`\`, `\\`, `"`, `\"`, "\t", `\t`, `$`, `$$`}},
}

// text returns the variables in the format. It fails for a value that the format cannot
// express.
func (f envFormat) text(variables []envVariable) (string, error) {
	var b strings.Builder
	escape := strings.NewReplacer(f.escaped...)
	if f.comment != "" {
		fmt.Fprintf(&b, "%s %s\n", f.comment, envNote)
	}
	b.WriteString(f.begin)
	for _, v := range variables {
		if err := f.check(v); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, f.line, v.Name, escape.Replace(v.Value))
	}
	return b.String(), nil
}

func (f envFormat) check(v envVariable) error {
	if !f.lines && strings.ContainsAny(v.Value, "\n\r") {
		return fmt.Errorf("--format %s has no line ends in values, and %s has one: %q", f.name, v.Name, v.Value)
	}
	isControl := func(r rune) bool { return unicode.IsControl(r) && r != '\t' }
	if !f.binary && (!utf8.ValidString(v.Value) || strings.ContainsFunc(v.Value, isControl)) {
		return fmt.Errorf("--format %s is text, and %s has other bytes: %q", f.name, v.Name, v.Value)
	}
	return nil
}
