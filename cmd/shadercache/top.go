package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/top"
)

const topUsage = `Show what happens in the cache directory.

The first lines sum up what the directory holds, and the starts that ended
within an hour. Below are the processes that have files of the directory open,
programs as they are compiled, and what the latest starts found. A process
counts among the starts when it ends or calls Flush.

On a terminal the picture is renewed until an interrupt; else one is printed.
With --json each one is an object.`

type topFlags struct {
	Interval time.Duration `flag:"interval" help:"time between two pictures" must:"at least 50ms"`
	Count    int           `flag:"count" help:"pictures to show (default one, on a terminal until an interrupt)" must:"at least 0"`
}

func (o *options) topCommand() cli.Command {
	f := topFlags{Interval: time.Second}
	return cli.Command{
		Use:     "top [--interval D] [--count N]",
		Short:   "Show processes, hits and compiles as they happen",
		Long:    topUsage,
		Example: "  shadercache top --interval 500ms",
		Flags:   &f, Unused: cli.GPUFlags, Result: top.Snapshot{},
		Run: func(*cobra.Command, []string) (cli.Result, error) { return nil, o.top(f) },
	}
}

// screen is a terminal that pictures are shown on, one over the other.
type screen struct {
	out  io.Writer
	size func() top.Size
}

// openScreen returns the terminal that standard output is, or nil.
func (o *options) openScreen() *screen {
	out, ofProcess := o.Stdout.(*cli.Output)
	if !ofProcess || o.JSON || !term.IsTerminal(int(os.Stdout.Fd())) {
		return nil
	}
	return &screen{out, func() top.Size {
		columns, lines, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			return top.Size{Columns: 80, Lines: 24}
		}
		return top.Size{Columns: columns, Lines: lines}
	}}
}

// Sequences of ECMA-48 that every terminal of today knows: the other screen and back, the
// cursor to the top, and the rest of the line and of the screen deleted.
const (
	enterScreen, leaveScreen = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	home, restOfLine, below  = "\x1b[H", "\x1b[K", "\x1b[J"
)

// show shows a picture over the one before it.
func (s *screen) show(snapshot *top.Snapshot) error {
	var b strings.Builder
	if err := snapshot.Write(&b, s.size()); err != nil {
		return err
	}
	_, err := io.WriteString(s.out, home+strings.ReplaceAll(b.String(), "\n", restOfLine+"\n")+restOfLine+below)
	return err
}

func (o *options) top(f topFlags) error {
	dir, err := o.FilledDirectory()
	if err != nil {
		return err
	}
	watcher, screen := top.NewWatcher(dir), o.openScreen()
	show := func(s *top.Snapshot) error {
		return o.Result(s, func(w io.Writer) { _ = s.Write(w, top.Size{}) }) // Result checks the writer
	}
	count := max(f.Count, 1)
	if screen != nil {
		show, count = screen.show, f.Count
		fmt.Fprint(o.Stdout, enterScreen)
		defer fmt.Fprint(o.Stdout, leaveScreen)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	return repeat(ctx, f.Interval, count, func() error {
		s, err := watcher.Snapshot(time.Now())
		if err != nil {
			return err
		}
		return show(s)
	})
}

// repeat calls do a number of times, 0 being until ctx ends, which is no error.
func repeat(ctx context.Context, interval time.Duration, count int, do func() error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for n := 1; ; n++ {
		if err := do(); err != nil || n == count {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
