package cli

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSONList writes an object whose last field is a list, an element at a time, as
// encoding the whole object would.
type JSONList struct {
	out   io.Writer
	begun bool // the first element was written
}

// NewJSONList writes the begin of an object with the field name and a list.
func NewJSONList(out io.Writer, name string, value any, list string) (*JSONList, error) {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = fmt.Fprintf(out, "{\n  %q: %s,\n  %q: [", name, text, list)
	}
	return &JSONList{out: out}, err
}

// Append writes an element.
func (l *JSONList) Append(element any) error {
	separator := ",\n    "
	if !l.begun {
		l.begun, separator = true, "\n    "
	}
	text, err := json.MarshalIndent(element, "    ", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(l.out, separator, string(text))
	return err
}

// Close writes the end of the object.
func (l *JSONList) Close() error {
	end := "\n  ]\n}\n"
	if !l.begun {
		end = "]\n}\n"
	}
	_, err := io.WriteString(l.out, end)
	return err
}
