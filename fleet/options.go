package fleet

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/trace"
)

// Mode is what a process may do with a remote.
type Mode string

// The modes. The environment has them as SHADERCACHE_REMOTE_MODE.
const (
	Off       Mode = "off"
	Read      Mode = "read"
	ReadWrite Mode = "read-write"
)

// Options configure a Remote. Zero fields are taken from the environment, then from the
// defaults: see FromEnvironment.
type Options struct {
	URL    string              // SHADERCACHE_REMOTE
	Mode   Mode                // SHADERCACHE_REMOTE_MODE; default: read
	Keys   []ed25519.PublicKey // SHADERCACHE_REMOTE_KEYS: files, separated like PATH
	Budget time.Duration       // SHADERCACHE_REMOTE_BUDGET; the most that a start waits; default: see PackWait

	// Roots are the keys of which one has to have signed the list of keys that a head comes
	// with: see KeyList. Keys count only where no head has had a list. They are among the files
	// of SHADERCACHE_REMOTE_KEYS: GenerateRootKey of package pack makes files of a kind of
	// their own.
	Roots []ed25519.PublicKey

	// Unsigned accepts heads that nobody has signed, and excludes Keys and Roots. A pack is
	// executable code: who can write to the store decides what the driver runs.
	// SHADERCACHE_REMOTE_KEYS is the word "accept-unsigned" for it.
	Unsigned bool

	// Name is a word in each signed head, so that a head of staging is refused in
	// production. SHADERCACHE_REMOTE_NAME; default: the path of the URL, with the bucket of
	// s3.
	Name string

	// MinSequence refuses older heads also on a machine that has seen none.
	// SHADERCACHE_REMOTE_MIN_SEQUENCE.
	MinSequence uint64

	// Lifetime is how long readers accept a head that Push or Compact writes. Default: 90
	// days.
	Lifetime time.Duration

	// SignKey signs the heads that Push and Compact write; its public key counts as one
	// of Keys. Default: heads are not signed. SHADERCACHE_REMOTE_SIGN_KEY: a file.
	SignKey ed25519.PrivateKey

	// Patience is how long a Pull, Push, Heads, Prune, Compact or Status waits for the store
	// in all. What arrives adds to it: a store that sends 16 KiB a second may take longer.
	// Default: 30 s.
	Patience time.Duration

	LeaseTime time.Duration // default: 30 s
	MaxBytes  int64         // unpacked bytes of all packs of a pull; default: 4 GiB
	Logger    *slog.Logger  // default: nothing is logged
	Tracer    trace.Tracer  // receives what pulls do; default: nothing is measured
}

const (
	defaultLeaseTime = 30 * time.Second
	defaultMaxBytes  = 4 << 30
	defaultLifetime  = 90 * 24 * time.Hour

	acceptUnsigned = "accept-unsigned"
)

// The environment variables.
const (
	urlVariable      = "SHADERCACHE_REMOTE"
	modeVariable     = "SHADERCACHE_REMOTE_MODE"
	keysVariable     = "SHADERCACHE_REMOTE_KEYS"
	budgetVariable   = "SHADERCACHE_REMOTE_BUDGET"
	signVariable     = "SHADERCACHE_REMOTE_SIGN_KEY"
	nameVariable     = "SHADERCACHE_REMOTE_NAME"
	sequenceVariable = "SHADERCACHE_REMOTE_MIN_SEQUENCE"
)

// FromEnvironment fills the zero fields of o from the environment. It returns an error for
// a value that cannot be understood.
func FromEnvironment(o Options) (Options, error) {
	if o.URL == "" {
		o.URL = os.Getenv(urlVariable)
	}
	if o.Mode == "" {
		o.Mode = Mode(os.Getenv(modeVariable))
	}
	if text := os.Getenv(budgetVariable); o.Budget == 0 && text != "" {
		budget, err := time.ParseDuration(text)
		if err != nil || budget <= 0 {
			return o, fmt.Errorf("remote: %s=%q is no duration such as 150ms", budgetVariable, text)
		}
		o.Budget = budget
	}
	if text := os.Getenv(sequenceVariable); o.MinSequence == 0 && text != "" {
		number, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return o, fmt.Errorf("remote: %s=%q is no number, as remote status shows it", sequenceVariable, text)
		}
		o.MinSequence = number
	}
	o.Name = cmp.Or(o.Name, os.Getenv(nameVariable))
	if err := o.keysFromEnvironment(); err != nil {
		return o, err
	}
	return o.withDefaults()
}

// keysFromEnvironment fills the fields with keys.
func (o *Options) keysFromEnvironment() error {
	if text := os.Getenv(keysVariable); !o.Verifies() && !o.Unsigned && text != "" {
		for _, path := range filepath.SplitList(text) {
			if path == acceptUnsigned {
				o.Unsigned = true
			} else if err := o.AddKey(path); err != nil {
				return fmt.Errorf("remote: %s: %w", keysVariable, err)
			}
		}
	}
	if path := os.Getenv(signVariable); o.SignKey == nil && path != "" {
		key, err := pack.ReadPrivateKey(path)
		if err != nil {
			return fmt.Errorf("remote: %s: %w", signVariable, err)
		}
		o.SignKey = key
	}
	return nil
}

// AddKey adds the public key of a file to Keys, or to Roots.
func (o *Options) AddKey(path string) error {
	key, root, err := pack.ReadTrustedKey(path)
	switch {
	case err != nil:
		return err
	case root:
		o.Roots = append(o.Roots, key)
	default:
		o.Keys = append(o.Keys, key)
	}
	return nil
}

// Verifies reports whether a key is known.
func (o *Options) Verifies() bool { return len(o.Keys)+len(o.Roots) > 0 }

// withDefaults returns o with its defaults.
func (o Options) withDefaults() (Options, error) {
	o.Mode = cmp.Or(o.Mode, Read)
	if o.Mode != Off && o.Mode != Read && o.Mode != ReadWrite {
		return o, fmt.Errorf("remote: mode %q: use %s, %s or %s", o.Mode, Off, Read, ReadWrite)
	}
	if o.Budget < 0 || o.Patience < 0 || o.LeaseTime < 0 || o.MaxBytes < 0 || o.Lifetime < 0 {
		return o, errors.New("remote: a negative budget, patience, lease time, lifetime or limit")
	}
	if o.Unsigned && o.Verifies() {
		return o, fmt.Errorf("remote: unsigned heads are accepted, so that the keys verify nothing: take the keys or %s out of %s", acceptUnsigned, keysVariable)
	}
	if len(o.Name) > maxName || !utf8.ValidString(o.Name) {
		return o, fmt.Errorf("remote: the name of a remote is a text of at most %d bytes", maxName)
	}
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	o.LeaseTime = cmp.Or(o.LeaseTime, defaultLeaseTime)
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	o.Lifetime = cmp.Or(o.Lifetime, defaultLifetime)
	return o, nil
}

// plainKeys returns Keys and the public key of SignKey: those that sign a head without a
// list.
func (o *Options) plainKeys() []ed25519.PublicKey {
	keys := o.Keys
	if o.SignKey != nil {
		keys = append(keys[:len(keys):len(keys)], o.SignKey.Public().(ed25519.PublicKey))
	}
	return keys
}

// nameOf returns the name of a remote whose options have none: what its URL has after the
// host, since one place has several hosts. Of s3 the host is the bucket; of oci a digest is no
// part of it.
func nameOf(u *url.URL) string {
	name := u.Path
	if !utf8.ValidString(name) { // in a head it would be another text
		name = u.EscapedPath()
	}
	switch u.Scheme {
	case "oci":
		name, _, _ = strings.Cut(name, "@")
	case "s3":
		name = u.Host + "/" + name
	}
	return strings.Trim(path.Clean("/"+name), "/")
}
