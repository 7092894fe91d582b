package fleet

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Status is the state of a remote, for doctor and remote status.
type Status struct {
	URL       string        `json:"url"` // without credentials
	Mode      Mode          `json:"mode"`
	Reachable bool          `json:"reachable"`
	Latency   time.Duration `json:"latency_ns"`       // of the request for the head
	Signed    bool          `json:"signed"`           // by one of the keys
	Signer    string        `json:"signer,omitempty"` // the name of that key
	Digest    shader.Digest `json:"digest"`           // of the head: two machines that see another one of one sequence see two remotes
	Head      *Head         `json:"head,omitempty"`
	Clock     time.Duration `json:"clock_ns"` // the store's clock, less this machine's; 0 = unknown
	Breaker   time.Time     `json:"breaker"`  // not asked until then; zero = asked
	Reason    string        `json:"reason"`   // of the breaker
	Counters  Counters      `json:"counters"`
	Err       error         `json:"-"`
}

// Status requests the head of a driver, and returns what is known of the remote on this
// machine. Without a driver it requests one that no remote has. A missing head is no error.
func (r *Remote) Status(ctx context.Context, driver *binary.Fingerprint) Status {
	s := Status{URL: r.URL(), Mode: r.options.Mode, Counters: r.Counters()}
	if b := r.state.breaker(); b.isOpen(r.now()) {
		s.Breaker, s.Reason = b.Until, b.Reason
	}
	if r.backend == nil {
		return s
	}
	driver = cmp.Or(driver, &binary.Fingerprint{})
	ctx, end := r.patient(ctx)
	defer end()
	start := time.Now()
	head, err := r.fetchHead(ctx, driver.Digest(), r.readSmall)
	s.Latency = time.Since(start)
	switch {
	case err == nil:
		s.Reachable, s.Head, s.Signed, s.Signer, s.Digest = true, head.Head, head.signed(), head.signer, head.content
		r.pin(head)
		err = head.checkEnd(r.now())
	case errors.Is(err, ErrNotFound) || errors.Is(err, ErrRefused):
		s.Reachable = true
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		s.Err = r.secret.Clean(err)
	}
	if head != nil && !head.clock.IsZero() {
		s.Clock = time.Until(head.clock)
	}
	return s
}
