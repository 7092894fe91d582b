package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addFlags adds a flag for each field of a struct that has the tag flag, also of embedded
// structs. What the field holds is the default. Its tags are
//
//	flag   the name, or the name and a letter: "define,D"
//	help   what the flag does
//	value  the word of help that stands for the value; without it the type does
//	shown  the default in the help; without it what the field holds, unless that is no value
//	words  completions of the value
//	files  endings of files that complete it, or "/" for folders
//	must   what a value that is given must be: "above 0", "at least 1" or "1 to 64"
//	list   "commas" for a list that commas divide, else each flag adds one
//	hidden "yes" for a flag that is not in the help
//
// and excludes, the names of flags that mean nothing beside it, with because, the reason.
func addFlags(cmd *cobra.Command, flags *pflag.FlagSet, values reflect.Value) {
	for i := range values.NumField() {
		switch field := values.Type().Field(i); {
		case field.Tag.Get("flag") != "":
			addFlag(cmd, flags, field.Tag, values.Field(i))
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			addFlags(cmd, flags, values.Field(i))
		}
	}
}

func addFlag(cmd *cobra.Command, flags *pflag.FlagSet, tag reflect.StructTag, field reflect.Value) {
	name, letter, _ := strings.Cut(tag.Get("flag"), ",")
	help, value := tag.Get("help"), tag.Get("value")
	if value != "" {
		help = strings.Replace(help, value, "`"+value+"`", 1)
	}
	switch to := field.Addr().Interface().(type) {
	case *bool:
		flags.BoolVarP(to, name, letter, *to, help)
	case *int:
		flags.IntVarP(to, name, letter, *to, help)
	case *uint64:
		flags.Uint64VarP(to, name, letter, *to, help)
	case *float64:
		flags.Float64VarP(to, name, letter, *to, help)
	case *string:
		flags.StringVarP(to, name, letter, *to, help)
	case *time.Duration:
		flags.DurationVarP(to, name, letter, *to, help)
	case *[]string:
		if tag.Get("list") == "commas" {
			flags.StringSliceVarP(to, name, letter, *to, help)
		} else {
			flags.StringArrayVarP(to, name, letter, *to, help)
		}
	case *[]int:
		flags.IntSliceVarP(to, name, letter, *to, help)
	case *[]time.Duration:
		flags.DurationSliceVarP(to, name, letter, *to, help)
	case pflag.Value:
		if flags.VarP(to, name, letter, help); field.IsZero() {
			flags.Lookup(name).DefValue = ""
		}
	default:
		panic(fmt.Sprintf("cli: flag --%s has the type %s", name, field.Type()))
	}
	if must := tag.Get("must"); must != "" {
		flags.Lookup(name).Value = bounded{flags.Lookup(name).Value, must}
		if field.IsZero() { // which the help would show for a value of another type
			flags.Lookup(name).DefValue = ""
		}
	}
	if shown, given := tag.Lookup("shown"); given {
		flags.Lookup(name).DefValue = shown
	}
	if slices.Contains(neverEmpty, name) {
		flags.Lookup(name).Value = notEmpty{flags.Lookup(name).Value}
	}
	flags.Lookup(name).Hidden = tag.Get("hidden") != ""
	_ = flags.SetAnnotation(name, excludes, strings.Fields(tag.Get(excludes)))
	_ = flags.SetAnnotation(name, because, []string{tag.Get(because)})
	completeFlag(cmd, flags, name, tag)
}

// neverEmpty are flags whose empty value, or item of a list, a script passes for a variable that
// is not set.
var neverEmpty = []string{"dir", "sign", "verify", "keep", "fingerprint", "include", "recording"}

// notEmpty is the value of such a flag.
type notEmpty struct{ pflag.Value }

// Set is called for each time that the flag is given.
func (v notEmpty) Set(text string) error {
	list, items := v.Type() == "stringSlice", []string{text}
	if list {
		items = strings.Split(text, ",")
	}
	switch {
	case slices.Contains(items, ""):
		return errors.New("it is empty")
	case list && strings.ContainsAny(text, "\r\n"): // the first line alone would count
		return errors.New("it has more than one line")
	}
	return v.Value.Set(text)
}

// bounded is the value of a flag with the tag must.
type bounded struct {
	pflag.Value
	must string
}

// Set refuses what is out of bounds, and NaN: a value that a user gives is used or refused, never
// replaced.
func (v bounded) Set(text string) error {
	before := v.String()
	if err := v.Value.Set(text); err != nil {
		return err
	}
	words := strings.Fields(v.must)
	got, last := quantity(v.String()), quantity(words[len(words)-1])
	var ok bool
	switch words[0] {
	case "above":
		ok = got > last
	case "at":
		ok = got >= last
	default:
		ok = got >= quantity(words[0]) && got <= last
	}
	if !ok {
		return errors.Join(errors.New("it must be "+v.must), v.Value.Set(before))
	}
	return nil
}

// quantity returns a number, or the nanoseconds of a duration.
func quantity(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err) // a bound, or a flag that is no quantity
	}
	return n
}

// completeFlag registers the completions that the tags of a flag have.
func completeFlag(cmd *cobra.Command, flags *pflag.FlagSet, name string, tag reflect.StructTag) {
	if words := tag.Get("words"); words != "" {
		Complete(cmd, name, strings.Fields(words)...)
	}
	switch files := tag.Get("files"); files {
	case "":
	case "/":
		_ = cobra.MarkFlagDirname(flags, name)
	default:
		_ = cobra.MarkFlagFilename(flags, name, strings.Fields(files)...)
	}
}
