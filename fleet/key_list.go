package fleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// KeyList says who may sign the heads of a remote. A root key signs it, which stays offline:
// nodes know its public half alone, so that keys change without touching them. It is the
// object v1/keys, from which writers take it, and the first line of each head, so that a
// start reads both at once:
//
//	shadercache-keys ed25519 <root key> <signature> <JSON in base64>
//
// The signature is that of keysContext and the JSON.
type KeyList struct {
	Schema  int         `json:"schema"`
	Name    string      `json:"name"`            // of the remote: see Options
	Epoch   uint64      `json:"epoch"`           // grows with each change: no reader goes back
	Since   uint64      `json:"since,omitempty"` // heads of earlier epochs are refused: they may list what a leaked key has pushed
	Expires time.Time   `json:"expires"`         // no reader uses it after that
	Keys    []ListedKey `json:"keys"`            // the oldest first

	line []byte // that has it; nil: none is signed
}

// ListedKey is a key that may sign heads, or might once.
type ListedKey struct {
	Key     []byte    `json:"key"` // 32 bytes
	Added   time.Time `json:"added"`
	Revoked time.Time `json:"revoked,omitzero"` // zero: it may sign
}

// ID returns the name of the key: see KeyID.
func (k ListedKey) ID() string { return KeyID(k.Key) }

const (
	keysName    = "v1/keys"
	keysMagic   = "shadercache-keys"
	keysContext = "shadercache remote keys\x00"
	keysSchema  = 1

	maxKeysBytes = 64 << 10
	maxKeys      = 256
)

// valid returns the keys that may sign.
func (l *KeyList) valid() (keys []ed25519.PublicKey) {
	for _, k := range l.Keys {
		if l.Find(k.ID()).Revoked.IsZero() {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// Find returns the key with a name, see KeyID, or nil: the entry that is revoked, if it has several.
func (l *KeyList) Find(id string) (found *ListedKey) {
	for i := range l.Keys {
		if l.Keys[i].ID() == id && (found == nil || found.Revoked.IsZero()) {
			found = &l.Keys[i]
		}
	}
	return found
}

// isAfter reports whether a list is newer than old, which may be nil. Of two with one number, which a
// store that shows an old list to who changes it can get, the stricter counts on all machines.
func (l *KeyList) isAfter(old *KeyList) bool {
	return old == nil || cmp.Or(cmp.Compare(l.Epoch, old.Epoch), cmp.Compare(l.Since, old.Since), len(old.valid())-len(l.valid())) > 0
}

// signKeys returns the line of a list.
func signKeys(root ed25519.PrivateKey, l *KeyList) ([]byte, error) {
	data, err := json.Marshal(l)
	line := strings.Join([]string{keysMagic, "ed25519", signerID(root),
		sign(root, keysContext, data), base64.StdEncoding.EncodeToString(data)}, " ")
	return append([]byte(line), '\n'), err
}

// cutKeys returns the line of the list that an object begins with, or none, and the rest.
func cutKeys(object []byte) (line, rest []byte) {
	if end := bytes.IndexByte(object, '\n'); end >= 0 && bytes.HasPrefix(object, []byte(keysMagic+" ")) {
		return object[: end+1 : end+1], object[end+1:]
	}
	return nil, object
}

// verifyKeys returns the list of a line, which is of this remote and signed by a known root key.
func (r *Remote) verifyKeys(line []byte) (*KeyList, error) {
	roots := r.options.Roots
	fields := strings.Split(strings.TrimSuffix(string(line), "\n"), " ")
	if len(fields) != 5 || fields[1] != "ed25519" || len(line) > maxKeysBytes {
		return nil, refuse(classNewer, "the list of keys is signed in a way that is newer than this program, or damaged")
	}
	data, err := base64.StdEncoding.DecodeString(fields[4])
	signature := decodeSignature(fields[3])
	if err != nil || signature == nil {
		return nil, refuse(classSignature, "the list of keys is damaged")
	}
	if !verifies(roots, fields[2], keysContext, data, signature) {
		return nil, refuse(classSignature, "the list of keys is not what root key %s has signed, and the known root keys are %s", printable(fields[2]), keyIDs(roots))
	}
	l := &KeyList{line: line}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, refuse(classDamaged, "the list of keys cannot be decoded: %v", err)
	}
	if l.Schema != keysSchema {
		return nil, refuse(classNewer, "the list of keys has schema %d, and this program reads schema %d: update shadercache here", l.Schema, keysSchema)
	}
	wrong := func(k ListedKey) bool { return len(k.Key) != ed25519.PublicKeySize }
	if len(l.Keys) > maxKeys || l.Epoch > maxSequence || l.Expires.IsZero() || slices.ContainsFunc(l.Keys, wrong) {
		return nil, refuse(classDamaged, "the list of keys has impossible values")
	}
	if l.Name != r.name {
		return nil, refuse(classSignature, "the list of keys is that of the remote %s, and this one has the name %s: see %s", printable(l.Name), printable(r.name), nameVariable)
	}
	return l, nil
}

// errNoRoot is the error of a writer that cannot know what readers refuse.
var errNoRoot = fmt.Errorf("the remote has a list of keys, and no root key is known here: name the .pub file of its root key in %s", keysVariable)

// readKeys returns the newest list, see newestKeys, with that of the remote's object among them,
// and the object. Where there is none the list is empty and has epoch 0. A writer reads it before a
// head, which may not have it yet.
func (r *Remote) readKeys(ctx context.Context) (list *KeyList, object small, err error) {
	if r.backend == nil {
		return nil, small{}, errOff
	}
	object, err = r.readSmall(ctx, keysName, maxKeysBytes)
	switch line, rest := cutKeys(object.data); {
	case errors.Is(err, ErrNotFound):
		err = nil
	case err == nil && (len(line) == 0 || len(rest) > 0):
		err = refuse(classDamaged, "%s is no such list: delete it, and the lists of the heads count, until remote keys renew", keysName) // each head would begin with it
	case err == nil && len(r.options.Roots) == 0:
		err = errNoRoot
	}
	if err == nil {
		list, err = r.newestKeys(object.data)
	}
	if err != nil {
		return nil, small{}, fmt.Errorf("list of keys: %w", err)
	}
	return cmp.Or(list, &KeyList{Schema: keysSchema, Name: r.name}), object, nil
}

// putKeysBack writes the newest list over an older one of the remote, which a late request has put
// there: only by compare-and-swap, as it may undo another change otherwise. It warns of one that stays.
func (r *Remote) putKeysBack(ctx context.Context, newest *KeyList, object small) {
	if len(object.data) == 0 || bytes.Equal(object.data, newest.line) {
		return
	}
	can, err := r.backend.Abilities(ctx)
	switch {
	case err != nil:
	case can.CompareAndSwap && object.tag != "":
		err = r.putSmall(ctx, keysName, newest.line, PutOptions{IfTag: object.tag})
	default:
		err = errors.New("it has no compare and swap: shadercache remote keys renew writes the newest list")
	}
	r.warn("an old list of keys stays in the store", err)
}

// keysToWrite returns the newest list for a head after old. It returns ErrChanged where
// old was judged by another list, which another process has replaced since: it may have packs of a
// key that was revoked. It returns an error for a key that readers would refuse.
func (r *Remote) keysToWrite(old *fetched) (*KeyList, error) {
	line, _ := cutKeys(old.object)
	list, err := r.seenKeys()
	seen := r.state.driver(old.Fingerprint).Epoch
	switch id := signerID(r.options.SignKey); {
	case err != nil:
		return nil, err
	case len(line) > 0 && len(r.options.Roots) == 0:
		return nil, errNoRoot
	case list == nil:
		return &KeyList{}, nil
	case len(old.object) > 0 && !bytes.Equal(list.line, cmp.Or(old.keys, &KeyList{}).line):
		return nil, ErrChanged // by another process of this machine, after old was judged by the one before
	case list.Epoch < seen: // readers would refuse the head, with its number
		return nil, refuse(classRollback, "the list of keys has number %d, and number %d was seen before: it is an old one; if the remote was made anew, delete the folder %s/ of the cache directory", list.Epoch, seen, Folder)
	case !r.now().Before(list.Expires):
		return nil, refuse(classExpired, "the list of keys is not valid since %s, so readers refuse each head: shadercache remote keys renew renews it", list.Expires.Local().Format(time.DateTime))
	default:
		if k := list.Find(id); k == nil || !k.Revoked.IsZero() {
			return nil, fmt.Errorf("key %s is not in the remote's list of keys, or was revoked: readers would refuse the head (hint: shadercache remote keys list; if the remote was made anew, delete the folder %s/ of the cache directory)", id, Folder)
		}
	}
	return list, nil
}

// keysLifetime is how long a list is used: who has a root key offline renews it once a year.
const keysLifetime = 400 * 24 * time.Hour

// Keys returns the list of keys of the remote, which is empty and of epoch 0 where it has
// none. For others a root key has to be known.
func (r *Remote) Keys(ctx context.Context) (list *KeyList, err error) {
	ctx, end := r.begin(ctx, "keys of", &err)
	defer end()
	list, _, err = r.readKeys(ctx)
	return list, err
}

// ChangeKeys changes the list of keys, with the private half of a known root key, and writes
// it into each head: from then on readers refuse what a revoked key has signed. change is
// called again where another writer was faster. Where the store cannot list, the error
// matches errors.ErrUnsupported, and each head has the new list after its next push.
func (r *Remote) ChangeKeys(ctx context.Context, root ed25519.PrivateKey, change func(*KeyList) error) (list *KeyList, err error) {
	ctx, end := r.begin(ctx, "keys of", &err)
	defer end()
	err = retryChanged(ctx, func() (err error) {
		list, err = r.changeKeys(ctx, root, change)
		return err
	})
	if err != nil {
		return nil, err
	}
	infos, err := r.backend.List(ctx, "v1/")
	switch {
	case errors.Is(err, ErrNotFound): // the list, at least, is there
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	case err == nil && !slices.ContainsFunc(infos, func(i Info) bool { return i.Name == keysName }):
		err = fmt.Errorf("%w: what the store lists lacks the new list of keys, and may lack heads", ErrProtocol)
	}
	for _, of := range driversOf(infos) {
		err = errors.Join(err, retryChanged(ctx, func() error { return r.putKeysInto(ctx, of, list) }))
	}
	return list, err
}

func (r *Remote) changeKeys(ctx context.Context, root ed25519.PrivateKey, change func(*KeyList) error) (*KeyList, error) {
	list, old, err := r.readKeys(ctx)
	if err == nil {
		err = r.checkClock(old.clock)
	}
	if err == nil { // that in its own place may have been deleted, or put back
		list, err = r.keysOfHeads(ctx, list)
	}
	if err == nil {
		err = change(list)
	}
	if err != nil {
		return nil, err
	}
	list.Epoch++
	list.Expires = r.now().UTC().Truncate(time.Second).Add(keysLifetime)
	line, err := signKeys(root, list)
	if err == nil {
		list, err = r.verifyKeys(line) // what readers would refuse is not written
	}
	if err != nil {
		return nil, err
	}
	if err := r.putSmall(ctx, keysName, line, PutOptions{IfTag: old.tag, IfAbsent: old.data == nil}); err != nil {
		return nil, err
	}
	r.keepKeys(list)
	return list, nil
}

// keysOfHeads returns list, or a newer one of a head. What nobody can read as a head or listing has
// none, and does not keep a key from being revoked: ChangeKeys says so when the list is written.
func (r *Remote) keysOfHeads(ctx context.Context, list *KeyList) (*KeyList, error) {
	drivers, err := r.listDrivers(ctx)
	for _, of := range drivers {
		object, unread := r.readListed(ctx, headName(of), maxHeadBytes)
		if isSilent(ctx, unread) {
			return nil, fmt.Errorf("%w (hint: it may have a later list; where the store never answers for %s, delete that object)", unread, headName(of))
		}
		later, _ := r.laterKeys(object.data, list)
		list = cmp.Or(later, list)
	}
	if isSilent(ctx, err) {
		return nil, err
	}
	return list, nil
}

// isSilent reports whether err is that of a store that did not answer.
func isSilent(ctx context.Context, err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrBusy) || err != nil && ctx.Err() != nil
}

// laterKeys returns the list that a head begins with, nil where that is no later one of this
// remote, and what is signed.
func (r *Remote) laterKeys(object []byte, than *KeyList) (later *KeyList, signed []byte) {
	line, signed := cutKeys(object)
	if list, err := r.verifyKeys(line); err == nil && list.isAfter(than) {
		later = list
	}
	return later, signed
}

// putKeysInto replaces the list that a head begins with, but for that of a later change, which
// may have revoked a key meanwhile. The head stays as it is signed.
func (r *Remote) putKeysInto(ctx context.Context, of shader.Digest, list *KeyList) error {
	object, err := r.readListed(ctx, headName(of), maxHeadBytes)
	if err != nil {
		return ignoreMissing(err)
	}
	later, signed := r.laterKeys(object.data, list)
	if later != nil {
		return nil
	}
	_, content, _ := bytes.Cut(signed, []byte("\n"))
	h, err := decodeHead(content, of)
	if err != nil {
		return err
	}
	data := slices.Concat(list.line, signed)
	return r.putHead(ctx, &fetched{Head: h, tag: object.tag, object: object.data}, h, data, true)
}
