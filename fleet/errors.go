package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shadercache/shadercache/fleet/pack"
)

// The classes of errors, for counters and the breaker.
const (
	classUnreachable = "unreachable" // ErrUnreachable, or no answer in time
	classSlow        = "slow"        // a pull that exceeded its budget
	classDenied      = "denied"
	classBusy        = "busy"
	classProtocol    = "protocol"
	classSignature   = "signature"
	classRollback    = "rollback"
	classExpired     = "expired"     // a head, or a list of keys, that nobody renewed
	classFingerprint = "fingerprint" // a head or pack of another driver
	classDamaged     = "damaged"
	classNewer       = "newer"
	classChanged     = "changed" // other writers, again and again
	classLocal       = "local"   // this machine: disk full, directory not writable
)

// ErrRefused is matched by a *RefusedError.
var ErrRefused = errors.New("remote: refused")

// RefusedError is returned for a head or pack that is not used. Nothing of it is kept.
type RefusedError struct {
	Class  string // signature, rollback, expired, fingerprint, damaged, newer, protocol
	Reason string
}

func (e *RefusedError) Error() string { return "refused: " + e.Reason }

// Is reports whether target is ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// refuse returns a *RefusedError with a formatted reason.
func refuse(class, text string, args ...any) error {
	return &RefusedError{Class: class, Reason: fmt.Sprintf(text, args...)}
}

func (e *BusyError) Error() string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("%v: try again in %v", ErrBusy, e.RetryAfter)
	}
	return ErrBusy.Error()
}

// Is reports whether target is ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// classify returns the class of an error.
func classify(err error) string {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Class
	}
	for _, known := range []struct {
		err   error
		class string
	}{
		{ErrDenied, classDenied},
		{ErrBusy, classBusy},
		{ErrProtocol, classProtocol},
		{ErrChanged, classChanged},
		{ErrNotFound, classDamaged}, // a pack that a head lists
		{pack.ErrNewer, classNewer},
		{pack.ErrRefused, classDamaged},
		{errSpace, classLocal},
		{ErrUnreachable, classUnreachable},
		{context.DeadlineExceeded, classUnreachable},
		{context.Canceled, classUnreachable},
		{io.ErrUnexpectedEOF, classUnreachable},
	} {
		if errors.Is(err, known.err) {
			return known.class
		}
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return classLocal
	}
	if _, ok := errors.AsType[*os.LinkError](err); ok {
		return classLocal
	}
	return classUnreachable
}
