package cli

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
)

// JSONResult is a result that a command prints with --json.
type JSONResult struct {
	Command *cobra.Command
	Flag    string // that selects this result, such as "--tuning"; "" = the usual one
	Type    reflect.Type
}

// JSONField is a field of a JSON object.
type JSONField struct {
	Name     string
	List     bool        // a list of values, or of objects
	Map      bool        // an object whose names are data
	Optional bool        // left out where it has no value
	Fields   []JSONField // of an object

	Owner  reflect.Type // the struct that has the field
	GoName string
}

// addResult registers the type of result as what cmd prints with --json, where a flag is given
// unless that is "". The help has its fields.
func (o *Options) addResult(cmd *cobra.Command, flag string, result any) {
	o.Results = append(o.Results, JSONResult{cmd, flag, reflect.TypeOf(result)})
}

// help returns the paragraph of a result in the help of its command.
func (r JSONResult) help() string {
	lead := "JSON fields: "
	if r.Flag != "" {
		lead = "JSON fields with " + r.Flag + ": "
	}
	return hang(lead+outline(JSONFields(r.Type))+".", 0)
}

// JSONFields returns the fields of the JSON object that encoding/json makes of a struct,
// or of a pointer to one.
func JSONFields(t reflect.Type) []JSONField {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var fields []JSONField
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case f.Anonymous && tag == "" && isStruct(f.Type):
			for _, inner := range JSONFields(f.Type) {
				inner.Optional = inner.Optional || f.Type.Kind() == reflect.Pointer
				fields = append(fields, inner)
			}
		case f.IsExported():
			j := JSONField{Name: tag, Owner: t, GoName: f.Name, Optional: strings.Contains(options, "omit")}
			if tag == "" {
				j.Name = f.Name
			}
			j.describe(f.Type)
			fields = append(fields, j)
		}
	}
	return fields
}

func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// describe sets what a field of type t holds.
func (f *JSONField) describe(t reflect.Type) {
	if t.Implements(jsonMarshaler) || t.Implements(textMarshaler) {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		f.describe(t.Elem())
	case reflect.Slice, reflect.Array:
		f.describe(t.Elem())
		f.List = true
	case reflect.Map:
		f.describe(t.Elem())
		f.Map = true
	case reflect.Struct:
		f.Fields = JSONFields(t)
	}
}

// outline returns fields on one line: "dir, programs [{name, error?}]".
func outline(fields []JSONField) string {
	var list []string
	for _, f := range fields {
		text := f.Name
		if f.Optional {
			text += "?"
		}
		inner := "..."
		if f.Fields != nil {
			inner = "{" + outline(f.Fields) + "}"
		}
		switch {
		case f.Map:
			text += " {NAME: " + inner + "}"
		case f.List:
			text += " [" + inner + "]"
		case f.Fields != nil:
			text += " " + inner
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
