package clitest

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		value    any
		kind     string
		nullable bool
	}{
		{shader.Key{}, "string", false}, {time.Time{}, "time", false}, {new(time.Time), "time", true}, {time.Second, "integer", false},
		{1.5, "number", false}, {new(float64), "number", true}, {"", "string", false}, {[]string{}, "string", false}, {struct{}{}, "object", false},
		{[]struct{}{}, "object", false}, {new(struct{}), "object", true}, {map[string]int{}, "integer", false}, {json.RawMessage{}, "any", false},
		{[]any{}, "any", false}, {true, "boolean", false}, {[2]uint8{}, "integer", false},
	} {
		if kind, nullable := kindOf(reflect.TypeOf(c.value)); kind != c.kind || nullable != c.nullable {
			t.Errorf("%T: %s, %v, want %s, %v", c.value, kind, nullable, c.kind, c.nullable)
		}
	}
}
