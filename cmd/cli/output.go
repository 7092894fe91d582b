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
//   - Results go to standard output: a table, or with --json one object and
//     nothing else.
//   - Messages, warnings and progress go to standard error. A progress bar is
//     drawn on a terminal only.
//   - A failure is "shadercache: what failed", then "hint: what to do".
//   - Times are milliseconds. Sizes are bytes in JSON, KiB, MiB and GiB in
//     tables.
//   - Names come from files, drivers and other users: nothing that is printed
//     controls a terminal, and a name is on one line, see EscapeName.
//   - Files are replaced atomically.

// Result prints v as JSON, or calls print with a writer that aligns columns separated by
// tabs.
func (o *Options) Result(v any, print func(w io.Writer)) error {
	if o.JSON {
		encoder := json.NewEncoder(o.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	w := tabwriter.NewWriter(escapingWriter{o.Stdout}, 0, 0, 2, ' ', 0)
	print(w)
	return w.Flush()
}

// Result is what a command prints: with --json itself, else a table.
type Result interface{ Print(w io.Writer) }

// Outcome is a result that may be a failure.
type Outcome interface {
	Result
	Verdict() error // nil for a good result
}

// Show returns err, or prints r and returns its verdict, if it has one.
func (o *Options) Show(r Result, err error) error {
	if err != nil {
		return err
	}
	if err := o.Result(r, r.Print); err != nil {
		return err
	}
	if r, ok := r.(Outcome); ok {
		return r.Verdict()
	}
	return nil
}

// Milliseconds returns d in milliseconds, rounded to a microsecond.
func Milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// ReadableDuration returns a duration with its unit: "1.8 s", "12 ms", "0.25 ms".
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

// Plural returns a count with its noun: "1 program", "2 programs", "2 searches",
// "2 processes".
func Plural[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	if strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "ss") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
