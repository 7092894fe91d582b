package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/internal/cli"
)

const (
	jsonDoc     = "../../docs/json.md"
	moduleRoot  = "../.."
	modulePath  = "github.com/shadercache/shadercache"
	jsonDocHead = `# JSON results

What each command prints with ` + "`--json`" + `: one object. A test makes this page from the
structs that the commands print and from the comments of their fields.

` + "`[]`" + ` is a list, ` + "`{}`" + ` an object whose names are data. A field with a ` + "`?`" + ` is left out where
it has no value. Times are text as in RFC 3339. Names that end in ` + "`_ms`" + ` are
milliseconds, in ` + "`_ns`" + ` nanoseconds; sizes are bytes.
`
)

const jsonDocErrors = `
## Errors and warnings

With ` + "`--json`" + ` each error and warning is a line on standard error, one JSON object. Child
processes of ` + "`--isolate`" + ` and what a driver prints are text.

| field | type | meaning |
|---|---|---|
`

// TestJSONDoc keeps docs/json.md equal to the results of the commands; -update writes it.
func TestJSONDoc(t *testing.T) {
	o := &options{cli.Options{Stdout: io.Discard, Stderr: io.Discard}}
	newRoot(o)
	docs := fieldDocs{t: t, packages: map[string]map[string]string{}}
	var b strings.Builder
	b.WriteString(jsonDocHead)
	slices.SortStableFunc(o.Results, func(a, b cli.JSONResult) int {
		return strings.Compare(a.Command.CommandPath(), b.Command.CommandPath())
	})
	for _, r := range o.Results {
		title := r.Command.CommandPath()
		if r.Flag != "" {
			title += " " + r.Flag
		}
		fmt.Fprintf(&b, "\n## %s\n\n| field | type | meaning |\n|---|---|---|\n", title)
		docs.write(&b, "", cli.JSONFields(r.Type))
	}
	b.WriteString(jsonDocErrors)
	docs.write(&b, "", cli.JSONFields(reflect.TypeFor[cli.JSONMessage]()))
	b.WriteString("\n| code | error |\n|---|---|\n")
	for _, c := range cli.ErrorCodes() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Code, c.Meaning)
	}
	checkDoc(t, jsonDoc, b.String(), "TestJSONDoc")
}

// TestEveryCommandHasAResult finds a command whose JSON is not documented.
func TestEveryCommandHasAResult(t *testing.T) {
	o := &options{cli.Options{Stdout: io.Discard, Stderr: io.Discard}}
	documented := map[*cobra.Command]bool{}
	root := newRoot(o)
	for _, r := range o.Results {
		documented[r.Command] = true
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		switch cmd.Name() {
		case "completion", "exec": // exec has no result
			return
		}
		// bench, remote, recording and checkpoint print their help.
		if cmd.Runnable() && cmd.HasParent() && !slices.Contains([]string{"bench", "remote", "recording", "checkpoint"}, cmd.Name()) && !cmd.Hidden && !documented[cmd] {
			t.Errorf("%s has no result type: see cli.Options.WithResult", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// checkDoc compares a generated page with its file; -update writes the file.
func checkDoc(t *testing.T, file, want, test string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date: go test -tags egl ./cmd/shadercache -run %s -update", file, test)
	}
}

// fieldDocs reads comments of struct fields from the source, a package at a time.
type fieldDocs struct {
	t        *testing.T
	packages map[string]map[string]string // by import path and Type.Field
}

// write writes a row for each field and for those below it.
func (d fieldDocs) write(b *strings.Builder, prefix string, fields []cli.JSONField) {
	for _, f := range fields {
		name, kind := prefix+f.Name, f.Kind
		if f.List {
			name += "[]"
		}
		if f.Map {
			name += "{}"
		}
		if f.Nullable {
			kind += " or null"
		}
		shown := name
		if f.Optional {
			shown += "?"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", shown, kind, strings.ReplaceAll(d.of(f.Owner, f.GoName), "|", "\\|"))
		d.write(b, name+".", f.Fields)
	}
}

// of returns the comment of a field, on one line.
func (d fieldDocs) of(owner reflect.Type, field string) string {
	below, ours := strings.CutPrefix(owner.PkgPath(), modulePath)
	if owner.PkgPath() == "main" {
		below, ours = "cmd/shadercache", true
	}
	if !ours {
		return ""
	}
	if d.packages[below] == nil {
		d.packages[below] = d.read(filepath.Join(moduleRoot, below))
	}
	return d.packages[below][owner.Name()+"."+field]
}

func (d fieldDocs) read(dir string) map[string]string {
	docs := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		d.t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			d.t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if object, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range object.Fields.List {
					for _, name := range field.Names {
						docs[spec.Name.Name+"."+name.Name] = oneLine(field.Doc, field.Comment)
					}
				}
			}
			return true
		})
	}
	return docs
}

// oneLine returns the text of the comments before and behind a field.
func oneLine(groups ...*ast.CommentGroup) string {
	var text []string
	for _, g := range groups {
		text = append(text, strings.Fields(g.Text())...)
	}
	return strings.Join(text, " ")
}
