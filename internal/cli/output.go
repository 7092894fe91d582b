package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Rules of output:
//
//   - Results go to standard output: a table for people, or with --json one
//     object and nothing else.
//   - Messages, warnings and progress go to standard error. A progress bar is
//     drawn on a terminal only.
//   - A failure is "shadercache: what failed", then "hint: what to do".
//   - Times are milliseconds, sizes are bytes in JSON and KiB, MiB, GiB for
//     people.
//   - Files are written whole or not at all.

// Result prints v as JSON, or calls human with a writer that aligns columns
// separated by tabs.
func (o *Options) Result(v any, human func(w io.Writer)) error {
	if o.JSON {
		encoder := json.NewEncoder(o.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	w := tabwriter.NewWriter(o.Stdout, 0, 0, 2, ' ', 0)
	human(w)
	return w.Flush()
}

// Outcome is a result that knows whether it is a failure.
type Outcome interface {
	Print(w io.Writer)
	Verdict() error
}

// Show prints the result of work that ended without err, and returns what is wrong
// with it.
func (o *Options) Show(r Outcome, err error) error {
	if err != nil {
		return err
	}
	if err := o.Result(r, r.Print); err != nil {
		return err
	}
	return r.Verdict()
}

// Milliseconds of a duration, for JSON and tables, to a microsecond.
func Milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// ReadableDuration is a time for a sentence: "1.8 s", "12 ms", "0.25 ms".
func ReadableDuration(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0f ms", Milliseconds(d))
	}
	return fmt.Sprintf("%.2f ms", Milliseconds(d))
}

// Plural returns a count with its noun: "1 program", "2 programs", "2 searches".
func Plural[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
