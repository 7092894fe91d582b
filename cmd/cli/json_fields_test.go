package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

type innerResult struct {
	Name string `json:"name"`
}

type embeddedResult struct {
	Deep int `json:"deep"`
}

type testResult struct {
	Key   shader.Key      `json:"key"`
	At    time.Time       `json:"at"`
	Took  time.Duration   `json:"took_ns"`
	Rate  *float64        `json:"rate"`
	Error string          `json:"error,omitempty"`
	List  []innerResult   `json:"list"`
	Names []string        `json:"names"`
	One   *innerResult    `json:"one,omitempty"`
	Map   map[string]int  `json:"map"`
	Raw   json.RawMessage `json:"raw"`
	Free  any             `json:"free"`
	Good  bool            `json:"good"`
	Plain int
	Left  int        `json:"-"`
	Since *time.Time `json:"since"`
	embeddedResult

	hidden int
}

func TestJSONFields(t *testing.T) {
	fields := JSONFields(reflect.TypeFor[*testResult]())
	const want = "key, at, took_ns, rate, error?, list [{name}], names [...], one? {name}, map {NAME: ...}, raw, free, good, Plain, since, deep"
	if got := outline(fields); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if rate := fields[3]; rate.Owner != reflect.TypeFor[testResult]() || rate.GoName != "Rate" {
		t.Errorf("%+v", rate)
	}
	_ = testResult{}.hidden
}

// The names are those that encoding/json writes.
func TestJSONFieldsAreThoseOfTheEncoder(t *testing.T) {
	data, err := json.Marshal(testResult{Error: "x", One: &innerResult{}, Raw: json.RawMessage("1")})
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	fields := JSONFields(reflect.TypeFor[testResult]())
	for _, f := range fields {
		if _, there := object[f.Name]; !there {
			t.Errorf("%s is not in %s", f.Name, data)
		}
	}
	if len(fields) != len(object) {
		t.Errorf("%d fields, but %s", len(fields), data)
	}
}

func TestResultsAreInTheHelp(t *testing.T) {
	var o Options
	cmd := o.build(Command{Long: "Text.", Result: innerResult{}, FlagResult: map[string]any{"--all": &testResult{}}})
	text := o.helpText(cmd)
	if !strings.HasPrefix(text, "Text.\n\nJSON fields: name.\n\nJSON fields with --all: key, at,") || strings.Count(text, "JSON") != 2 {
		t.Errorf("%s", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if len(o.Results) != 2 || o.Results[1].Flag != "--all" || o.Results[1].Command != cmd {
		t.Errorf("%+v", o.Results)
	}
}
