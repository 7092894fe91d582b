package clitest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptJSON checks one field of the JSON object on the last standard output:
//
//	json compiles == 0
//	json programs.0.origin == disk
//	json get_ms > 0
//	json programs len 3
//	! json programs.0.error           the field is not there
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	var object any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	if len(args) == 0 {
		ts.Fatalf("usage: [!] json FIELD [==|!=|>|<|len VALUE]")
	}
	value, err := jsonField(object, args[0])
	switch {
	case len(args) == 1 && neg && err == nil:
		ts.Fatalf("%s is there: %v", args[0], value)
	case len(args) == 1 && neg:
		return
	case err != nil:
		ts.Fatalf("%v", err)
	case len(args) == 3 && !neg:
		if !jsonHolds(value, args[1], args[2]) {
			ts.Fatalf("%s is %v, not %s %s", args[0], value, args[1], args[2])
		}
	}
}

// jsonField follows a path of names and indices.
func jsonField(object any, path string) (any, error) {
	for _, step := range strings.Split(path, ".") {
		switch o := object.(type) {
		case map[string]any:
			next, ok := o[step]
			if !ok {
				return nil, fmt.Errorf("%s: there is no %s", path, step)
			}
			object = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(o) {
				return nil, fmt.Errorf("%s: there is no element %s", path, step)
			}
			object = o[i]
		default:
			return nil, fmt.Errorf("%s: %s is in no object", path, step)
		}
	}
	return object, nil
}

func jsonHolds(value any, operator, want string) bool {
	number, isNumber := value.(float64)
	limit, err := strconv.ParseFloat(want, 64)
	switch operator {
	case "==":
		return fmt.Sprint(value) == want
	case "!=":
		return fmt.Sprint(value) != want
	case ">":
		return isNumber && err == nil && number > limit
	case "<":
		return isNumber && err == nil && number < limit
	case "len":
		list, isList := value.([]any)
		return isList && strconv.Itoa(len(list)) == want
	}
	return false
}
