package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
)

const remoteCommandUsage = `Show and maintain a remote: a place with packs that many machines share.

push and pull move packs. A program that uses the cache pulls by itself when it
starts, where these are set:

  SHADERCACHE_REMOTE           the URL of the remote
  SHADERCACHE_REMOTE_KEYS      files with public keys, separated like those of
                               PATH; accept-unsigned accepts what is not signed
  SHADERCACHE_REMOTE_MODE      off, read (the default) or read-write, which
                               pushes what was compiled when a process ends
  SHADERCACHE_REMOTE_BUDGET    the most that a start waits; by default 150ms for
                               an answer, then half of what the packs save
  SHADERCACHE_REMOTE_SIGN_KEY  a file with a private key, for those that write
  SHADERCACHE_REMOTE_NAME      a word that each head has to have signed; by
                               default the path of the URL

$SHADERCACHE_REMOTE_MIN_SEQUENCE refuses heads of a lower number, also on a
machine that has seen none.`

func (o *options) remoteCommand() cli.Command {
	return cli.Command{
		Use:     "remote [flags]",
		Short:   "Show and maintain a remote",
		Long:    remoteCommandUsage,
		Example: "  shadercache remote status",
		Below:   []cli.Command{o.remoteStatusCommand(), o.remoteListCommand(), o.remotePruneCommand(), o.remoteCompactCommand(), o.remoteKeysCommand()},
	}
}

const remoteStatusUsage = `Show whether a remote answers, what it has for this driver, and what starts on
this machine got from it.

` + remoteUsage + `

A remote that failed is not asked again for a while, so that it does not slow
down each start: "not asked until" shows the end of it. An error is never
counted as a miss, which is a remote without a pack for the driver.

The exit code is 1 when the remote does not answer, or is refused.`

// remoteStatus is what remote status prints.
type remoteStatus struct {
	fleet.Status
	Error string `json:"error,omitempty"` // why the remote cannot be read
}

func (o *options) remoteStatusCommand() cli.Command {
	var f remoteFlags
	return cli.Command{
		Use:     "status [--verify KEY|--trust] [URL]",
		Short:   "Show whether a remote answers and what it gave",
		Long:    remoteStatusUsage,
		Example: "  shadercache remote status --json | jq .counters",
		Args:    maybeURL,
		Flags:   &f, Result: remoteStatus{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.remoteStatus(args, f) },
	}
}

func (o *options) remoteStatus(args []string, f remoteFlags) (*remoteStatus, error) {
	ro, err := f.options(args, fleet.Read)
	if err != nil {
		return nil, err
	}
	fingerprint, err := o.CurrentFingerprint()
	if err != nil {
		return nil, err
	}
	s := &remoteStatus{}
	return s, o.onRemote(ro, func(ctx context.Context, r *fleet.Remote) error {
		if s.Status = r.Status(ctx, &fingerprint); s.Err != nil {
			s.Error = s.Err.Error()
		}
		return nil
	})
}

// Verdict returns why the remote cannot be read.
func (s *remoteStatus) Verdict() error { return s.Err }

func (s *remoteStatus) Print(w io.Writer) {
	fmt.Fprintf(w, "remote\t%s, %s\n", cli.EscapeName(s.URL), s.Mode)
	switch {
	case !s.Reachable:
		fmt.Fprint(w, "answer\tnone\n")
	case s.Signed:
		fmt.Fprintf(w, "answer\tin %s, signed by key %s\n", cli.ReadableDuration(s.Latency), s.Signer)
	case s.Head == nil && s.Err == nil: // nothing that could be signed
		fmt.Fprintf(w, "answer\tin %s\n", cli.ReadableDuration(s.Latency))
	default:
		fmt.Fprintf(w, "answer\tin %s, not signed by a known key\n", cli.ReadableDuration(s.Latency))
	}
	if h := s.Head; h != nil {
		fmt.Fprintf(w, "this driver\t%s in %s (%s), sequence %d of %s\n", cli.Plural(h.Programs(), "program"), cli.Plural(len(h.Packs), "pack"),
			cli.ReadableBytes(h.Bytes()), h.Sequence, h.Time.Local().Format(time.DateTime))
		fmt.Fprintf(w, "valid until\t%s\n", h.Expires.Local().Format(time.DateTime))
	} else if s.Reachable {
		fmt.Fprint(w, "this driver\tnothing: the first push from a machine with this driver and GPU fills it\n")
	}
	if !s.Breaker.IsZero() {
		fmt.Fprintf(w, "not asked until\t%s, since it failed\n", s.Breaker.Local().Format(time.DateTime))
	}
	c := s.Counters
	fmt.Fprintf(w, "starts here\t%d hits, %d misses, %d errors; %s, %s and %s in all\n", c.Hits, c.Misses, errorCount(c),
		cli.ReadableBytes(c.Bytes), cli.ReadableDuration(c.Time), cli.Plural(c.Backfills, "program"))
	for _, class := range slices.Sorted(maps.Keys(c.Errors)) {
		fmt.Fprintf(w, "\t  %s: %d\n", class, c.Errors[class])
	}
}

// headLine is one driver of a remote.
type headLine struct {
	Label   string `json:"label"`
	Current bool   `json:"current"` // the driver of a GPU of --device, else of the one that is used
	fleet.Head
}

// remoteListResult is what remote list prints.
type remoteListResult struct {
	Remote string     `json:"remote"` // its URL, without credentials
	Heads  []headLine `json:"heads"`
	partial
}

const remoteListUsage = `List the drivers that a remote has packs for, the latest change first. The
current driver is marked with *; without OpenGL none is marked.

` + remoteUsage

func (o *options) remoteListCommand() cli.Command {
	var f remoteFlags
	return cli.Command{
		Use:     "list [--verify KEY|--trust] [URL]",
		Short:   "List the drivers of a remote",
		Long:    remoteListUsage,
		Example: "  shadercache remote list --json | jq -r '.heads[].fingerprint'",
		Args:    maybeURL,
		Flags:   &f, GPUs: cli.SeveralGPUs, Result: remoteListResult{},
		Run: func(_ *cobra.Command, args []string) (cli.Result, error) { return o.remoteList(args, f) },
	}
}

func (o *options) remoteList(args []string, f remoteFlags) (*remoteListResult, error) {
	ro, err := f.options(args, fleet.Read)
	if err != nil {
		return nil, err
	}
	current, err := o.currentDevices()
	if err != nil {
		return nil, err
	}
	list := &remoteListResult{Remote: fleet.ShownURL(ro.URL), Heads: []headLine{}}
	return list, o.onRemote(ro, func(ctx context.Context, r *fleet.Remote) error {
		heads, err := list.heads(ctx, r)
		for _, h := range heads {
			list.Heads = append(list.Heads, headLine{h.Driver.Label(), isCurrent(current, h.Fingerprint), h})
		}
		return err
	})
}

func (r *remoteListResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", cli.EscapeName(r.Remote), cli.Plural(len(r.Heads), "driver"))
	if len(r.Heads) == 0 {
		return
	}
	fmt.Fprint(w, "\n \tdriver\tfingerprint\tprograms\tpacks\tsize\tsequence\tchanged\n")
	for _, h := range r.Heads {
		mark := " "
		if h.Current {
			mark = "*"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s\n", mark, cli.EscapeName(h.Label), h.Fingerprint.Short(), h.Programs(),
			len(h.Packs), cli.ReadableBytes(h.Bytes()), h.Sequence, cli.ReadableAge(time.Since(h.Time)))
	}
}
