package doctor

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
)

const (
	remoteCheck = "remote"
	unsetRemote = "unset SHADERCACHE_REMOTE"

	// remotePatience is how long the check waits for an answer, and for all packs.
	remotePatience = 20 * time.Second

	// nearEnd is how long before its end a head should be renewed.
	nearEnd = 14 * 24 * time.Hour

	// clockSkew is the difference of clocks above which ages of heads mislead, and requests
	// to stores that check times (S3) are refused.
	clockSkew = 5 * time.Minute
)

// examineRemote checks the remote of the environment: that it answers, is signed by a known
// key, and has packs for this driver, and how long a start would wait for them. driver is
// nil where there is none.
func (r *Report) examineRemote(dir *binary.Dir, driver *binary.Fingerprint) {
	settings, err := fleet.FromEnvironment(fleet.Options{})
	if err != nil {
		r.wrong(remoteCheck, unsetRemote, "%v", err)
		return
	}
	if settings.URL == "" || settings.Mode == fleet.Off {
		return
	}
	if !settings.Verifies() && !settings.Unsigned {
		r.wrong(remoteCheck, "export SHADERCACHE_REMOTE_KEYS=fleet.key.pub", "no key is known: nothing from the remote is used")
		return
	}
	if settings.SignKey != nil && settings.Mode == fleet.ReadWrite {
		r.note(remoteCheck, "unset SHADERCACHE_REMOTE_SIGN_KEY, and let a CI job of a protected branch push",
			"processes of this machine sign what they compile: who breaks into one of them decides what all machines run")
	}
	far, err := fleet.Open(dir, settings)
	if err != nil {
		r.wrong(remoteCheck, unsetRemote, "%v", err)
		return
	}
	defer far.Close()
	ctx, cancel := context.WithTimeout(context.Background(), remotePatience)
	defer cancel()
	status := far.Status(ctx, driver)
	if r.examineAnswer(status) && driver != nil && status.Head != nil {
		r.examinePull(ctx, settings, *driver)
	}
}

// examineAnswer reports the answer of a remote, and whether its packs can be used.
func (r *Report) examineAnswer(s fleet.Status) bool {
	const ask = "shadercache remote status"
	switch {
	case errors.Is(s.Err, fleet.ErrRefused):
		r.wrong(remoteCheck, "export SHADERCACHE_REMOTE_KEYS=fleet.key.pub, or push again", "%v", s.Err)
		return false
	case s.Err != nil:
		r.wrong(remoteCheck, ask, "%v", s.Err)
		return false
	}
	if s.Clock.Abs() > clockSkew {
		r.wrong(remoteCheck, "timedatectl set-ntp true", "the clock of the remote differs by %s", cli.ReadableAge(s.Clock.Abs()))
	}
	if !s.Breaker.IsZero() {
		r.note(remoteCheck, "shadercache pull", "starts do not ask it until %s, since it failed: %s", s.Breaker.Local().Format(time.TimeOnly), s.Reason)
	}
	if s.Head == nil {
		r.note(remoteCheck, "shadercache push, from one machine with this driver", "%s answers in %s, and has nothing for this driver",
			s.URL, cli.ReadableDuration(s.Latency))
		return false
	}
	if end := s.Head.Expires; !end.IsZero() && time.Until(end) < nearEnd {
		r.note(remoteCheck, "shadercache push --refresh, where it is pushed", "no machine uses its packs after %s", end.Local().Format(time.DateTime))
	}
	signed := "signed by a known key"
	if !s.Signed {
		signed = "not signed by a known key"
	}
	r.good(remoteCheck, "%s answers in %s, %s, with %s for this driver", s.URL, cli.ReadableDuration(s.Latency), signed, cli.Plural(s.Head.Programs(), "program"))
	return true
}

// examinePull pulls into a directory that is removed, as the first start of a machine does,
// and compares the time with what a start waits for.
func (r *Report) examinePull(ctx context.Context, settings fleet.Options, driver binary.Fingerprint) {
	work, err := os.MkdirTemp("", "shadercache-doctor-")
	if err != nil {
		r.note(remoteCheck, "", "a pull was not tried: %v", err)
		return
	}
	defer os.RemoveAll(work)
	dir, err := binary.OpenDir(work)
	if err != nil {
		r.note(remoteCheck, "", "a pull was not tried: %v", err)
		return
	}
	began := time.Now()
	far, err := fleet.Open(dir, settings)
	if err == nil {
		defer far.Close()
		var pull fleet.PullReport
		pull, err = far.Pull(ctx, fleet.PullOptions{Current: &driver})
		if took := time.Since(began); err == nil {
			r.examineTime(took, settings.PackWait(pull.Saves), pull)
			return
		}
	}
	r.wrong(remoteCheck, "push again, with --replace where a pack is named: shadercache push --help", "a pull fails: %v", err)
}

// examineTime compares the time of a pull with the budget of a start.
func (r *Report) examineTime(took, budget time.Duration, pull fleet.PullReport) {
	what := cli.ReadableBytes(pull.Bytes) + " in " + cli.Plural(pull.Packs, "pack")
	if took > budget {
		r.note(remoteCheck, "export SHADERCACHE_REMOTE_BUDGET="+(2*took).Round(10*time.Millisecond).String(),
			"a pull of %s took %s, and a first start waits for %s: it compiles, and the next one is warm", what, cli.ReadableDuration(took), budget)
		return
	}
	r.good(remoteCheck, "a pull of %s took %s; a first start waits for up to %s", what, cli.ReadableDuration(took), budget)
}
