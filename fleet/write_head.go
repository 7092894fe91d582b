package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// readToChange is readOldHead for those that write the next one.
func (r *Remote) readToChange(ctx context.Context, of shader.Digest) (*fetched, error) {
	old, err := r.readOldHead(ctx, of)
	if err != nil {
		return nil, err
	}
	return old, r.checkToChange(old)
}

// checkToChange refuses a head that the next one must not be based on. What a machine accepts for itself
// is too little: readers of a signed head refuse an unsigned one, and take one with a signature as word
// for all its packs.
func (r *Remote) checkToChange(old *fetched) (err error) {
	if !r.options.Unsigned {
		return nil
	}
	_, signed := cutKeys(old.object)
	line, _, _ := strings.Cut(string(signed), "\n")
	if r.options.SignKey != nil {
		_, _, err = verifyHead(signed, r.options.plainKeys(), false)
	} else if line != unsignedLine {
		err = refuse(classSignature, "the head is signed by key %s: push with --sign", printable(strings.Fields(line)[2]))
	}
	if err != nil {
		return fmt.Errorf("head of driver %s: %w", old.Fingerprint.Short(), err)
	}
	return nil
}

// writeHead signs and writes a head with the next number, if old is still the present one.
// It returns ErrChanged, wrapped, otherwise.
func (r *Remote) writeHead(ctx context.Context, old *fetched, h *Head) error {
	clock := old.clock
	if clock.IsZero() && old.Time.After(r.now()) {
		clock = old.Time // that of its writer
	}
	if err := r.checkClock(clock); err != nil {
		return err
	}
	abilities, err := r.backend.Abilities(ctx)
	if err != nil {
		return err
	}
	swaps := abilities.CompareAndSwap && (old.object == nil || old.tag != "")
	list, err := r.keysToWrite(old)
	if err != nil {
		return err
	}
	h.number(r.state.driver(h.Fingerprint), list, r.now())
	h.Schema, h.Name = headSchema, r.name
	h.Time = r.now().UTC().Truncate(time.Second)
	h.Expires = h.Time.Add(r.options.Lifetime)
	h.dropRetired(r.now())
	content, err := h.encode()
	if err := errors.Join(err, h.check(), checkSigned(content)); err != nil {
		return err
	}
	object := slices.Concat(list.line, signHead(r.options.SignKey, content))
	if err := r.putHead(ctx, old, h, object, swaps); err != nil {
		return err
	}
	// The head may have replaced one with a later list, or be one that a change of keys did not see.
	if !swaps || old.object == nil {
		now, _, err := r.readKeys(ctx)
		if err == nil && !bytes.Equal(now.line, list.line) {
			err = errors.Join(ErrChanged, r.putKeysInto(ctx, h.Fingerprint, now))
		}
		if err != nil {
			return err
		}
	}
	r.state.dropUnlisted(h)
	written := &fetched{Head: h, signer: signerID(r.options.SignKey), keys: list, content: contentDigest(content)}
	r.note(r.rememberOwn(written, old, swaps))
	return nil
}

// maxClockError is how far from the store's the clock of a machine may be that changes a
// remote.
const maxClockError = 24 * time.Hour

// checkClock returns an error where this machine's clock is far from the store's, if that is
// known. Behind, what it signs would have ended for all others; ahead, what it signs would
// live too long, and a prune would find all heads old.
func (r *Remote) checkClock(store time.Time) error {
	if ahead := r.now().Sub(store); !store.IsZero() && ahead.Abs() > maxClockError {
		return fmt.Errorf("this machine's clock is %s, and the store's, or the last writer's, is %s: set it right before this machine changes the remote (where the other one is wrong: push --replace writes a new head)",
			r.now().UTC().Format(time.RFC3339), store.UTC().Format(time.RFC3339))
	}
	return nil
}

// number sets the epoch and the sequence of a new head: the time in milliseconds, or the next
// number where that is later. So a head continues after old ones that are not known: it was
// deleted, replaced, or put back from a copy, or another writer writes without compare-and-swap.
func (h *Head) number(seen driverState, list *KeyList, now time.Time) {
	epoch, first := max(h.Epoch, seen.Epoch), uint64(now.UnixMilli())
	if list != nil && list.Epoch > epoch {
		h.Epoch, h.Sequence = list.Epoch, first
		return
	}
	last := h.Sequence
	if h.Epoch < epoch {
		last = 0
	}
	if seen.Epoch == epoch {
		last = max(last, seen.Sequence)
	}
	h.Epoch, h.Sequence = epoch, max(last+1, first)
}

// putHead writes the object of a head, by compare-and-swap where the store can, and looks
// whether the store has it then, and its packs: a prune at the same time may have deleted the
// head, or an older copy of a new pack, and without compare-and-swap another writer may have
// replaced the head, or a prune any pack.
func (r *Remote) putHead(ctx context.Context, old *fetched, h *Head, object []byte, swaps bool) error {
	o := PutOptions{IfTag: old.tag, IfAbsent: old.object == nil, Packs: h.Packs, Annotations: h.annotations()}
	err := r.putSmall(ctx, headName(h.Fingerprint), object, o)
	before := old.digests()
	for _, p := range h.Packs {
		if err == nil && !(swaps && before[p.SHA256]) {
			err = changedIfMissing(r.hasPack(ctx, h.Fingerprint, p))
		}
	}
	if err != nil {
		return fmt.Errorf("head of driver %s: %w", h.Fingerprint.Short(), err)
	}
	return nil
}

// putSmall writes an object, and returns ErrChanged where the store has another one then.
func (r *Remote) putSmall(ctx context.Context, name string, data []byte, o PutOptions) error {
	o.Size = int64(len(data))
	if _, err := r.backend.Put(ctx, name, bytes.NewReader(data), o); err != nil {
		return err
	}
	now, err := r.readSmall(ctx, name, maxHeadBytes)
	if err == nil { // the first one has none before it that told the store's clock
		err = r.checkClock(now.clock)
	}
	if err == nil && string(now.data) != string(data) {
		err = ErrChanged
	}
	return changedIfMissing(err)
}

// changedIfMissing returns the error of a read after a write.
func changedIfMissing(err error) error {
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// hasPack returns an error for a pack that the store does not have. After a garbage collection a
// registry with a cache tells its size, and sends nothing of it.
func (r *Remote) hasPack(ctx context.Context, of shader.Digest, p Pack) error {
	body, err := r.openPack(ctx, of, p)
	if err != nil {
		return err
	}
	defer body.Close()
	// A proxy may end the stream with an error of its own; a reset is the network's fault.
	if _, err = io.ReadFull(body, make([]byte, 1)); err != nil && ctx.Err() == nil && !errors.Is(err, syscall.ECONNRESET) {
		err = fmt.Errorf("pack %s: %w: nothing of it arrives: %w", p.SHA256.Short(), ErrNotFound, err)
	}
	return err
}
