package clitest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
)

// ModuleRoot is the folder of the module, from one of a command.
const ModuleRoot = "../.."

const modulePath = "github.com/shadercache/shadercache/"

// jsonSchema is the file with the schema of a command's results, from its folder.
const jsonSchema = "testdata/results.schema.json"

// JSONSchema keeps the schema of what each command prints with --json equal to the structs
// that the commands print and to the comments of their fields; -update writes it.
func JSONSchema(t *testing.T, newRoot Root) {
	_, o := newRoot(io.Discard)
	s := &schema{docs: fieldDocs{t: t, packages: map[string]map[string]string{}}, types: map[string]string{}}
	commands := map[string]string{}
	for _, r := range o.Results {
		title := r.Command.CommandPath()
		if r.Flag != "" {
			title += " " + r.Flag
		}
		commands[title] = s.ref(r.Type)
	}
	var codes []string
	for _, c := range cli.ErrorCodes() {
		codes = append(codes, line(map[string]any{"const": c.Code, "description": c.Meaning}))
	}
	head := "Commands print one object with --json, here by command. Errors and warnings are lines on standard error, " +
		"cli.JSONMessage. Names in _ms are milliseconds, in _ns nanoseconds; sizes are bytes."
	message := s.ref(reflect.TypeFor[cli.JSONMessage]())
	CheckDoc(t, jsonSchema, fmt.Sprintf("{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n\"description\": %s,\n\"properties\": {\n%s},\n"+
		"\"$defs\": {\n\"error\": %s,\n\"code\": {\"oneOf\": [\n%s]},\n%s}}\n",
		line(head), members(commands), message, strings.Join(codes, ",\n"), members(s.types)), "TestJSONSchema")
}

// schema has the types of results, each once.
type schema struct {
	docs  fieldDocs
	types map[string]string // by name, in JSON
}

// ref returns a reference to a struct, or to one behind pointers, lists and maps.
func (s *schema) ref(t reflect.Type) string {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	name := strings.TrimPrefix(t.String(), "main.")
	if _, known := s.types[name]; !known {
		s.types[name] = "" // while it is written
		s.types[name] = s.object(t)
	}
	return line(map[string]any{"$ref": "#/$defs/" + name})
}

func (s *schema) object(t reflect.Type) string {
	fields, required := map[string]string{}, []string{}
	for _, f := range cli.JSONFields(t) {
		fields[f.Name] = s.field(f)
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	return fmt.Sprintf("{\"type\": \"object\", \"required\": %s, \"properties\": {\n%s}}", line(required), members(fields))
}

// field returns the schema of a field. A list without elements may be null.
func (s *schema) field(f cli.JSONField) string {
	goField, _ := f.Owner.FieldByName(f.GoName)
	value, nullable := kindOf(goField.Type)
	kind := map[string]string{"any": "{}", "time": `{"type": "string", "format": "date-time"}`}[value]
	if value == "object" {
		kind = s.ref(goField.Type)
	} else if kind == "" {
		kind = line(map[string]any{"type": value})
	}
	switch {
	case f.Map:
		kind = `{"type": ["object", "null"], "additionalProperties": ` + kind + `}`
	case f.List:
		kind = `{"type": ["array", "null"], "items": ` + kind + `}`
	case nullable && !f.Optional:
		kind = `{"anyOf": [` + kind + `, {"type": "null"}]}`
	}
	if doc := s.docs.of(f.Owner, f.GoName); doc != "" && kind != "{}" {
		return strings.TrimSuffix(kind, "}") + `, "description": ` + line(doc) + "}"
	}
	return kind
}

// kindOf returns what encoding/json makes of a value, or of the elements of a list or map, and
// whether it may be null.
func kindOf(t reflect.Type) (kind string, nullable bool) {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "time", false
	case t.Kind() == reflect.Pointer: // null for nil
		kind, _ = kindOf(t.Elem())
		return kind, true
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return "string", false
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		return "any", false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return kindOf(t.Elem())
	case reflect.Struct:
		return "object", false
	case reflect.String:
		return "string", false
	case reflect.Bool:
		return "boolean", false
	case reflect.Float32, reflect.Float64:
		return "number", false
	case reflect.Interface:
		return "any", false
	}
	return "integer", false
}

// members returns the members of an object, one a line, by name.
func members(values map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, line(name)+": "+values[name])
	}
	return strings.Join(list, ",\n")
}

// line returns a value in JSON on one line.
func line(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // maps and texts can be encoded
	}
	return strings.TrimSpace(b.String())
}

// withoutResult has commands that print their help, and exec, which prints what its program does.
var withoutResult = []string{"shadercache bench", "shadercache remote", "shadercache remote keys", "shadercache recording", "shadercache help", "shadercache exec",
	"shadercache-lab bench", "shadercache-lab run", "shadercache-lab checkpoint", "shadercache-lab help"}

// EveryCommandHasAResult finds a command whose JSON is not documented.
func EveryCommandHasAResult(t *testing.T, newRoot Root) {
	root, o := newRoot(io.Discard)
	documented := map[*cobra.Command]bool{}
	for _, r := range o.Results {
		documented[r.Command] = true
	}
	walk(root, func(cmd *cobra.Command) {
		if cmd.HasParent() && !slices.Contains(withoutResult, cmd.CommandPath()) && !hidden(cmd) && !documented[cmd] {
			t.Errorf("%s has no result type: see cli.Command.Result", cmd.CommandPath())
		}
	})
}

// CheckDoc compares a generated page with its file; -update writes the file.
func CheckDoc(t *testing.T, file, want, test string) {
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
		t.Errorf("%s is out of date: go test -tags egl . -run %s -update, in the folder of its test", file, test)
	}
}

// fieldDocs reads comments of struct fields from the source, a package at a time.
type fieldDocs struct {
	t        *testing.T
	packages map[string]map[string]string // by import path and Type.Field
}

// of returns the comment of a field, on one line.
func (d fieldDocs) of(owner reflect.Type, field string) string {
	below, ours := strings.CutPrefix(owner.PkgPath()+"/", modulePath)
	if !ours {
		return ""
	}
	if d.packages[below] == nil {
		d.packages[below] = d.read(filepath.Join(ModuleRoot, below))
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
