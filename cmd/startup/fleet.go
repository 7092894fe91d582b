package startup

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/startup/link"
	"github.com/shadercache/shadercache/cmd/startup/objects"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
)

// Loopback is the Options.Remote of a server in this process.
const Loopback = "loopback"

// FleetOptions are the part of Options for starts from a remote.
type FleetOptions struct {
	Remote    string        `flag:"remote" help:"start from this remote too: loopback, or a URL"` // "" = no such scenarios
	Latency   time.Duration `flag:"latency" help:"of a link before the remote, there and back" must:"at least 0"`
	Bandwidth link.Rate     `flag:"bandwidth" help:"of a link before the remote, as in 100Mb/s"` // 0 = no limit
	Budget    time.Duration `flag:"budget" help:"how long a start waits for the remote (default that of the library)" must:"at least 0"`
}

// validate returns an error for options that cannot work together.
func (f FleetOptions) validate() error {
	slow := f.Latency != 0 || f.Bandwidth != 0
	switch {
	case f.Remote == "" && (slow || f.Budget != 0):
		return errors.New("--latency, --bandwidth and --budget are for --remote")
	case f.Remote == "" || f.Remote == Loopback:
		return nil
	}
	u, err := url.Parse(f.Remote)
	if err != nil {
		return errors.New("--remote is no URL")
	}
	if slow && u.Scheme != "http" && u.Scheme != "oci" {
		return errors.New("--latency and --bandwidth are for http:, oci: and loopback")
	}
	return nil
}

// FleetFigures are those of a remote.
type FleetFigures struct {
	Remote         string  `json:"remote"`     // its URL, without credentials, or loopback
	LatencyMillis  float64 `json:"latency_ms"` // of the link: there and back
	Bandwidth      string  `json:"bandwidth"`  // of the link; empty: no limit
	BudgetMillis   float64 `json:"budget_ms"`  // of a start; 0: the default
	PushMillis     float64 `json:"push_ms"`    // of the push that filled the remote, over the link
	PushedBytes    int64   `json:"pushed_bytes"`
	RatioToWarm    float64 `json:"ratio_to_warm"`    // process of remote, of that of both
	ExtraMillis    float64 `json:"extra_ms"`         // process of remote, less that of both
	ExtraColdMilli float64 `json:"extra_to_cold_ms"` // process of remote, less that of cold
}

// Fleet is the remote of a run.
type Fleet struct {
	FleetOptions
	key    string // file of the private key; .pub is beside it
	url    string // as the processes see it, behind the link
	server *httptest.Server
	link   *link.Link

	pushed int64     // bytes, by the latest push
	pushes []float64 // milliseconds
}

// OpenFleet starts the server and the link, and makes the keys, in work.
func OpenFleet(o FleetOptions, work string) (*Fleet, error) {
	if o.Remote == "" {
		return nil, nil
	}
	f := &Fleet{FleetOptions: o, key: filepath.Join(work, "bench.key"), url: o.Remote}
	if err := pack.GenerateKey(f.key); err != nil {
		return nil, err
	}
	if o.Remote == Loopback {
		f.server = httptest.NewServer(&objects.Store{})
		f.url = f.server.URL
	}
	if o.Latency == 0 && o.Bandwidth == 0 {
		return f, nil
	}
	u, err := url.Parse(f.url)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	to := u.Host
	if u.Port() == "" {
		to += ":80"
	}
	if f.link, err = link.New(to, o.Latency, o.Bandwidth); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	u.Host = f.link.Addr()
	f.url = u.String()
	return f, nil
}

// Close ends the server and the link.
func (f *Fleet) Close() (err error) {
	if f == nil {
		return nil
	}
	if f.link != nil {
		err = f.link.Close()
	}
	if f.server != nil {
		f.server.Close()
	}
	return err
}

// at returns the URL of a round: each has an empty remote.
func (f *Fleet) at(round int) string {
	return strings.TrimSuffix(f.url, "/") + "/shadercache-bench-" + strconv.Itoa(os.Getpid()) + "/" + strconv.Itoa(round)
}

// Push fills the remote of a round from a directory, as one job of a fleet does.
func (f *Fleet) Push(ctx context.Context, o *cli.Options, round int, from string) (err error) {
	began := time.Now()
	dir, err := binary.OpenDir(from)
	if err != nil {
		return err
	}
	key, err := pack.ReadPrivateKey(f.key)
	if err != nil {
		return err
	}
	r, err := fleet.Open(dir, fleet.Options{URL: f.at(round), Mode: fleet.ReadWrite, SignKey: key, Logger: o.Logger()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	report, err := r.Push(ctx, fleet.PushOptions{})
	f.pushed = report.Bytes
	f.pushes = append(f.pushes, cli.Milliseconds(time.Since(began)))
	return err
}

// Environment returns what makes a process use the remote of a round.
func (f *Fleet) Environment(round int) []string {
	set := []string{
		"SHADERCACHE_REMOTE=" + f.at(round),
		"SHADERCACHE_REMOTE_KEYS=" + f.key + ".pub",
	}
	if f.Budget > 0 {
		set = append(set, "SHADERCACHE_REMOTE_BUDGET="+f.Budget.String())
	}
	return set
}

// figures summarizes the remote of a run.
func (f *Fleet) figures(all map[string]Figures) *FleetFigures {
	r := &FleetFigures{
		Remote: Loopback, LatencyMillis: cli.Milliseconds(f.Latency), BudgetMillis: cli.Milliseconds(f.Budget),
		PushMillis:     stats.Median(f.pushes),
		PushedBytes:    f.pushed,
		RatioToWarm:    speedup(all[Remote].ProcessMillis, all[Both].ProcessMillis),
		ExtraMillis:    all[Remote].ProcessMillis - all[Both].ProcessMillis,
		ExtraColdMilli: all[Remote].ProcessMillis - all[Cold].ProcessMillis,
	}
	if f.Bandwidth != 0 {
		r.Bandwidth = f.Bandwidth.String()
	}
	if f.Remote != Loopback {
		r.Remote = fleet.ShownURL(f.Remote)
	}
	return r
}

// String returns the link of the remote, for people.
func (r *FleetFigures) String() string {
	text := r.Remote
	if r.LatencyMillis > 0 {
		text += fmt.Sprintf(", %g ms there and back", r.LatencyMillis)
	}
	if r.Bandwidth != "" {
		text += ", " + r.Bandwidth
	}
	if r.BudgetMillis > 0 {
		text += fmt.Sprintf(", budget %g ms", r.BudgetMillis)
	}
	return text
}
