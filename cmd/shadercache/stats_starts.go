package main

import (
	"fmt"
	"io"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
)

// startsLine holds the figures of starts.
type startsLine struct {
	Since *time.Time `json:"since"` // begin of the figures; null = the first start that is known
	cli.Figures
}

// beginOf returns the begin of the figures of the latest time; of all where since is 0.
func beginOf(dir *binary.Dir, since time.Duration) time.Time {
	begin := dir.ZeroTime()
	if since > 0 {
		if earliest := time.Now().Add(-since).UTC(); earliest.After(begin) {
			begin = earliest
		}
	}
	return begin
}

// newStartsLine sums up the starts since a time.
func newStartsLine(dir *binary.Dir, begin time.Time) startsLine {
	c := cli.SumStarts(dir.Starts(begin))
	line := startsLine{Figures: cli.NewFigures(c)}
	line.Compiles -= min(c.StoreOnly, c.Compiles)
	if !begin.IsZero() {
		line.Since = &begin
	}
	return line
}

func (s *startsLine) Print(w io.Writer) {
	since := ""
	if s.Since != nil {
		since = " since " + s.Since.Local().Format(time.DateTime)
	}
	if s.Starts == 0 {
		fmt.Fprintf(w, "no starts%s\n", since)
		return
	}
	first := "" // records of older versions do not have it
	if s.FirstMillis > 0 {
		first = fmt.Sprintf(", the first program ready after %.1f ms", s.FirstMillis)
	}
	fmt.Fprintf(w, "%s%s: %.1f compiled a start, %.1f%% found on disk, %.1f%% of requests resident%s\n",
		cli.Plural(s.Starts, "start"), since, s.CompilesPerStart, 100*s.DiskRate, 100*s.ResidentRate, first)
}
