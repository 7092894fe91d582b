package top

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shadercache/shadercache/cmd/cli"
)

// Size is the size of a terminal in characters. Lines 0: as many as there are.
type Size struct{ Columns, Lines int }

// minColumns is the width that the columns need; a narrower terminal cuts lines.
const minColumns = 80

// Write writes a snapshot, in lines that a terminal of a size has room for.
func (s *Snapshot) Write(w io.Writer, size Size) error {
	lines := s.lines(max(size.Columns, minColumns), time.Local)
	if size.Lines > 0 {
		lines = lines[:min(len(lines), size.Lines)]
	}
	for i, line := range lines {
		end := "\n"
		if i == size.Lines-1 {
			end = "" // the terminal must not scroll
		}
		if _, err := fmt.Fprint(w, cut(line, size.Columns), end); err != nil {
			return err
		}
	}
	return nil
}

// lines returns the text of a snapshot. The widths of columns are those of 80 characters;
// names get what a wider terminal has.
func (s *Snapshot) lines(columns int, zone *time.Location) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	clock := func(t time.Time) string {
		if s.Time.Sub(t) > 24*time.Hour {
			return t.In(zone).Format("01-02 15:04")
		}
		return t.In(zone).Format("15:04:05")
	}
	limit := "none"
	if s.LimitBytes > 0 {
		limit = cli.ReadableBytes(s.LimitBytes)
	}
	wide := columns - minColumns
	add("shadercache  %s  %s", clock(s.Time), cli.EscapeName(s.Dir))
	add("%s, %s; the driver's own cache %s; limit %s", cli.Plural(s.Programs, "program"), cli.ReadableBytes(s.ProgramBytes),
		cli.ReadableBytes(s.DriverBytes), limit)
	add("last hour: %s, %d compiled, %d from disk (%.1f%%), %.1f%% of requests resident", cli.Plural(s.Hour.Starts, "start"),
		s.Hour.Compiles, s.Hour.DiskHits, 100*s.Hour.DiskRate, 100*s.Hour.ResidentRate)
	add("")
	add("%8s  %-*s  %s", "PROCESS", 48+wide, "PROGRAM", "SINCE")
	for _, p := range s.Processes {
		add("%8d  %-*s  %s", p.PID, 48+wide, cut(cli.EscapeName(p.Name), 48+wide), clock(p.Began))
	}
	if len(s.Processes) == 0 {
		add("%8s  %s", "", "none has its files open")
	}
	add("")
	add("%-11s  %-*s  %10s  %10s", "COMPILED", 32+wide, "PROGRAM", "MS", "BYTES")
	for _, c := range s.Compiled[:min(len(s.Compiled), 8)] {
		add("%-11s  %-*s  %10.1f  %10d", clock(c.Created), 32+wide, cut(cli.EscapeName(c.Name), 32+wide), float64(c.CompileNanos)/1e6, c.Bytes)
	}
	add("")
	add("%-11s  %-*s  %8s  %8s  %8s  %6s", "START ENDED", 22+wide, "DRIVER", "COMPILED", "DISK", "RESIDENT", "HITS")
	for _, t := range s.Starts[:min(len(s.Starts), 8)] {
		add("%-11s  %-*s  %8d  %8d  %8d  %5.1f%%", clock(t.Time), 22+wide, cut(cli.EscapeName(t.Driver), 22+wide),
			t.Figures.Compiles, t.Figures.DiskHits, t.Figures.ResidentHits, 100*t.Figures.DiskRate)
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// cut returns the beginning of a text that fits into columns; 0: all of it.
func cut(text string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(text) <= columns {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(columns-1, 0)]) + "…"
}
