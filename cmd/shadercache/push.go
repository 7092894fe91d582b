package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/replay"
	"github.com/shadercache/shadercache/fleet"
)

const pushUsage = `Send what the cache has and a remote lacks, as one pack: program binaries,
tunings and the driver's own machine code, of every driver in the cache. Many
small packs are made into one.

` + remoteUsage + `

$SHADERCACHE_REMOTE_SIGN_KEY is the key without --sign. Without a key a new
remote is not signed, other machines read it with --trust only, and a push to a
signed one fails. Keep the key where push runs, in one job of CI, and not on
every machine. What is in the remote must be signed with the same key, or with
one of $SHADERCACHE_REMOTE_KEYS, as after a change of keys.

--recording compiles as preload does. Where programs fail, the others are sent,
and the exit code is 1.

--replace writes the remote anew, with what this cache has, and without reading
what is there: after a key was lost, for example. It needs --sign.

Without --recording it needs no OpenGL, but for a cache that exec alone filled:
no program in it names the driver. A push that is interrupted leaves the
remote as it was.`

// pushFlags are the flags of push.
type pushFlags struct {
	sendFlags
	Sources    bool     `flag:"sources" help:"send the sources that preload --keep-sources stored too"`
	Replace    bool     `flag:"replace" help:"leave out what the remote has"`
	Refresh    bool     `flag:"refresh" help:"let the head be valid for 90 days more, also if nothing is new"`
	Recordings []string `flag:"recording" help:"compile the recording in DIR, which exec --record wrote, first (repeatable)" value:"DIR" files:"/"`
}

// pushResult is what push prints.
type pushResult struct {
	Remote string `json:"remote"` // its URL, without credentials
	Signed bool   `json:"signed"` // with a key

	Replay *preloadResult `json:"replay,omitempty"` // with --recording
	fleet.PushReport
}

func (o *options) pushCommand() cli.Command {
	var f pushFlags
	return cli.Command{
		Use:     "push [--sign KEY] [--sources] [--fingerprint DRIVER] [--recording DIR] [--replace] [--refresh] [URL]",
		Short:   "Send the cache to a remote, for other machines",
		Long:    pushUsage,
		Example: "  shadercache push --sign release.key s3://bucket/app",
		Args:    maybeURL,
		Flags:   &f, Setup: o.completeFingerprints, Result: pushResult{},
		Check: func(cmd *cobra.Command, _ []string) error {
			return cli.RefuseUnused(cmd, len(f.Recordings) > 0, "--recording", "device")
		},
		Run: func(cmd *cobra.Command, args []string) (cli.Result, error) {
			r, err := o.push(cmd, args, f)
			if err != nil {
				return nil, err
			}
			return nil, o.reportPrograms(reportFlags{}, r.Replay, r)
		},
	}
}

func (o *options) push(cmd *cobra.Command, args []string, f pushFlags) (*pushResult, error) {
	ro, err := writerOptions(f.Sign, args)
	if err != nil {
		return nil, err
	}
	if f.Replace && ro.SignKey == nil {
		return nil, cli.Usage(cmd, errors.New("--replace needs --sign KEY"))
	}
	r := &pushResult{Remote: fleet.ShownURL(ro.URL), Signed: ro.SignKey != nil}
	if r.Replay, err = o.replayToPush(f.Recordings); err != nil {
		return nil, err
	}
	dir, err := o.DirectoryToSend()
	if err != nil {
		return nil, err
	}
	if err := o.identifyDriver(dir); err != nil {
		return nil, err
	}
	po := fleet.PushOptions{Sources: f.Sources, Replace: f.Replace, Refresh: f.Refresh}
	if po.Fingerprints, err = chosenDrivers(dir, f.Drivers); err != nil {
		return nil, err
	}
	bar := o.NewBar("pushing")
	po.Progress = bar.Set
	err = o.onRemote(ro, func(ctx context.Context, to *fleet.Remote) error {
		r.PushReport, err = to.Push(ctx, po)
		return err
	})
	bar.Finish()
	return r, err
}

// identifyDriver notes the current driver in a cache that has its machine code, and no program
// that names it: a remote has packs by driver.
func (o *options) identifyDriver(dir *binary.Dir) error {
	infos, err := dir.Drivers()
	if err != nil || len(infos) > 0 {
		return err
	}
	if dir.DriverBytes() == 0 {
		return cli.Hint(fmt.Errorf("%s has nothing to send", dir.Path()), "shadercache preload fills it")
	}
	current, err := o.CurrentFingerprint()
	if err != nil {
		return cli.Hint(err, "the cache has machine code and no program, which would name the driver: push it where OpenGL works, or take export")
	}
	return replay.Identify(dir, current)
}

// replayToPush compiles recordings, as preload does with its default flags. It returns nil
// without any.
func (o *options) replayToPush(paths []string) (*preloadResult, error) {
	recordings, err := openRecordings(paths)
	if err != nil || len(recordings) == 0 {
		return nil, err
	}
	dir, err := o.openToFill()
	if err != nil {
		return nil, err
	}
	r := &preloadResult{Programs: []preloadLine{}, begin: time.Now()}
	if err := r.addReplays(o.Logger(), recordings, math.MaxInt); err != nil {
		return nil, err
	}
	return r, filling{o, preloadFlags{isolationFlags: defaultIsolation()}, dir, r}.compile()
}

func (r *pushResult) Print(w io.Writer) {
	if r.Replay != nil {
		r.Replay.printSummary(w)
	}
	if r.Heads == 0 {
		fmt.Fprintf(w, "%s has all of it already\n", r.Remote)
		return
	}
	fmt.Fprintf(w, "%s and %s of machine code are new in %s: %s, %s, %s\n", cli.Plural(r.Programs, "program"),
		cli.Plural(r.DriverFiles, "file"), r.Remote, cli.Plural(r.Packs, "pack"), cli.ReadableBytes(r.Bytes), cli.Plural(r.Heads, "driver"))
	if !r.Signed {
		fmt.Fprint(w, "not signed: machines read it with --trust only, see keygen\n")
	}
}
