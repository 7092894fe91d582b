package fleet

import (
	"bytes"
	"crypto/ed25519"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// openHead decodes the object of a driver's head, which one of the known keys has signed: of
// the newest list, or of Options. It refuses one that is older than what was seen.
func (r *Remote) openHead(object small, of shader.Digest, seen driverState) (*fetched, error) {
	f, err := r.verified(object, of)
	if err != nil {
		return nil, err
	}
	return f, f.checkSequence(seen, r.options.MinSequence)
}

// verified is openHead without regard to numbers.
func (r *Remote) verified(object small, of shader.Digest) (*fetched, error) {
	line, signed := cutKeys(object.data)
	list, keys, err := r.trusted(line)
	if err != nil {
		return nil, err
	}
	content, signer, err := verifyHead(signed, keys, r.options.Unsigned)
	if err != nil {
		return nil, list.explain(signed, err)
	}
	h, err := decodeHead(content, of)
	if err != nil {
		return nil, err
	}
	f := &fetched{h, signer, list, object.tag, object.data, contentDigest(content), object.clock}
	return f, r.checkHead(f)
}

// trusted returns the newest list, see newestKeys, where line comes with a head, and the keys that
// may have signed that.
func (r *Remote) trusted(line []byte) (list *KeyList, keys []ed25519.PublicKey, err error) {
	o := &r.options
	if len(o.Roots) > 0 {
		list, err = r.newestKeys(line)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case list != nil:
		return list, list.valid(), nil
	case len(o.Roots) > 0 && len(o.Keys) == 0:
		return nil, nil, refuse(classSignature, "the head has no list of keys, which root key %s has to sign: shadercache remote keys add makes one", keyIDs(o.Roots))
	}
	return nil, o.plainKeys(), nil
}

// newestKeys returns the list of line, if there is one, or a newer one that this machine saw before;
// nil for none. So no revocation is taken back by who puts old objects into the store, and a change
// of keys that has not reached each head holds up nobody.
func (r *Remote) newestKeys(line []byte) (*KeyList, error) {
	seen, err := r.seenKeys()
	if err != nil || len(line) == 0 || seen != nil && bytes.Equal(line, seen.line) {
		return seen, err
	}
	list, err := r.verifyKeys(line)
	if err != nil || !list.isAfter(seen) {
		return seen, err
	}
	r.keepKeys(list)
	return list, nil
}

// seenKeys returns the newest list that this machine saw, also with the head of another driver; nil
// for none.
func (r *Remote) seenKeys() (newest *KeyList, err error) {
	var kept string
	err = r.state.read(keysState, &kept)
	r.mu.Lock()
	lines := [][]byte{[]byte(kept), r.mu.keys} // the first lacks it where the cache cannot be written
	r.mu.Unlock()
	for _, line := range lines {
		if list, err := r.verifyKeys(line); err == nil && list.isAfter(newest) {
			newest = list
		}
	}
	return newest, err
}

// keepKeys remembers a list, unless there is a later one.
func (r *Remote) keepKeys(l *KeyList) {
	r.mu.Lock()
	r.mu.keys = l.line
	r.mu.Unlock()
	var seen string
	r.note(r.state.update(lockWait, keysState, &seen, func() {
		if old, _ := r.verifyKeys([]byte(seen)); l.isAfter(old) {
			seen = string(l.line)
		}
	}))
}

// explain returns err, or that a head is signed with a key that was revoked.
func (l *KeyList) explain(signed []byte, err error) error {
	if l == nil {
		return err
	}
	for _, k := range l.Keys {
		if _, _, other := verifyHead(signed, []ed25519.PublicKey{k.Key}, false); other == nil {
			return refuse(classSignature, "the head is signed by key %s, which was revoked on %s: push it with another key, by push --replace", k.ID(), k.Revoked.Format(time.DateOnly))
		}
	}
	return err
}

// checkHead refuses a head of another remote, one that claims a later list than it comes with,
// and one from before a key leaked.
func (r *Remote) checkHead(f *fetched) error {
	switch {
	case !f.signed():
		return nil // it proves nothing
	case len(r.options.Roots) > 0 && (f.keys == nil && f.Epoch > 0 || f.keys != nil && f.Epoch > f.keys.Epoch):
		return refuse(classSignature, "the head claims list of keys %d, and comes with an older one, or none", f.Epoch)
	case f.keys != nil && f.Epoch < f.keys.Since:
		return refuse(classSignature, "the head is older than list of keys %d, which refuses all packs of before, since a key has leaked: push them anew, by push --replace", f.keys.Since)
	case f.Name != r.name:
		return refuse(classSignature, "the head is that of the remote %s, and this one has the name %s: see %s", printable(f.Name), printable(r.name), nameVariable)
	}
	return nil
}

// checkEnd refuses a head that has ended, or whose list of keys has: who can write to the
// store would hold newer ones back.
func (f *fetched) checkEnd(now time.Time) error {
	what, end, do := "head", f.Expires, "push --refresh"
	if f.keys != nil && f.keys.Expires.Before(end) {
		what, end, do = "list of keys", f.keys.Expires, "remote keys renew"
	}
	if now.Before(end) {
		return nil
	}
	clock := ""
	if ahead := now.Sub(f.clock); !f.clock.IsZero() && f.clock.Before(end) {
		clock = "; this machine's clock is " + ahead.Round(time.Minute).String() + " ahead of the store's"
	}
	return refuse(classExpired, "the %s is not valid since %s: shadercache %s renews it%s", what, end.Local().Format(time.DateTime), do, clock)
}

// checkSequence refuses a signed head that is older than one seen before, and another one
// of the same number. The numbers of a later list of keys are later: who had a key that was
// revoked cannot keep nodes from what is signed after. Without signatures a sequence proves
// nothing. least is Options.MinSequence. Without compare-and-swap another writer, who chose
// its number earlier, may have replaced what this machine wrote: only what was read before
// that is proof of an older head then.
func (f *fetched) checkSequence(seen driverState, least uint64) error {
	switch {
	case !f.signed():
		return nil
	case seen.unread != nil:
		return seen.unread
	case f.Sequence < least:
		return refuse(classRollback, "the head has number %d, and %s is %d", f.Sequence, sequenceVariable, least)
	case seen.numberIsBefore(f), f.Epoch == seen.Epoch && seen.Before != nil && f.Sequence > *seen.Before:
		return nil // later than all that were seen
	case f.Epoch < seen.Epoch || f.Sequence < seen.Sequence:
		return refuse(classRollback, "the head has number %d, and number %d was seen before: it is an old one; if the remote was made anew, delete the folder %s/ of the cache directory", f.Sequence, seen.Sequence, Folder)
	case f.content != seen.Head:
		return refuse(classRollback, "two heads have number %d: one of them is not what was signed first, or two writers wrote at once", f.Sequence)
	}
	return nil
}

// remember stores the sequence of a head, and that a pull or push has seen it.
func (r *Remote) remember(f *fetched) error {
	return r.state.updateDriver(f.Fingerprint, func(s *driverState) {
		s.see(f)
		s.Checked, s.Missing, s.Saves = r.now(), false, saves(f.Packs)
	})
}

// mayBePutBack reports whether a head that has ended may be an old one that somebody put back, since
// it is not the last that this machine has seen: what it lists is signed for nobody else.
func (r *Remote) mayBePutBack(f *fetched) bool {
	return f.signed() && !r.now().Before(f.Expires) && f.content != r.state.driver(f.Fingerprint).Head
}

// pin stores the sequence of a head, so that no older one is accepted; not of one that has ended, see
// mayBePutBack.
func (r *Remote) pin(f *fetched) {
	if seen := r.state.driver(f.Fingerprint); f.signed() && seen.numberIsBefore(f) && r.now().Before(f.Expires) {
		r.note(r.state.updateDriver(f.Fingerprint, func(s *driverState) { s.see(f) }))
	}
}

// see sets the sequence to that of a head, if it is higher.
func (s *driverState) see(f *fetched) {
	if f.signed() && s.numberIsBefore(f) {
		s.Epoch, s.Sequence, s.Head, s.Before = f.Epoch, f.Sequence, f.content, nil
	}
}

func (s *driverState) numberIsBefore(f *fetched) bool {
	return f.Epoch > s.Epoch || f.Epoch == s.Epoch && f.Sequence > s.Sequence
}

// rememberOwn stores the sequence of a head that was written here after old.
func (r *Remote) rememberOwn(f, old *fetched, swapped bool) error {
	return r.state.updateDriver(f.Fingerprint, func(s *driverState) {
		before := s.Sequence
		if old.signed() && old.Epoch == f.Epoch {
			before = old.Sequence
		}
		s.see(f)
		if !swapped {
			s.Before = &before
		}
		s.Checked, s.Missing = r.now(), false
	})
}
