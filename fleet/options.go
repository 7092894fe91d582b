package fleet

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

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

	// Unsigned accepts heads without a signature of Keys. A pack is executable code: who
	// can write to the store decides what the driver runs. SHADERCACHE_REMOTE_KEYS has
	// the word "accept-unsigned" for it.
	Unsigned bool

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

	acceptUnsigned = "accept-unsigned"
)

// The environment variables.
const (
	urlVariable    = "SHADERCACHE_REMOTE"
	modeVariable   = "SHADERCACHE_REMOTE_MODE"
	keysVariable   = "SHADERCACHE_REMOTE_KEYS"
	budgetVariable = "SHADERCACHE_REMOTE_BUDGET"
	signVariable   = "SHADERCACHE_REMOTE_SIGN_KEY"
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
	if err := o.keysFromEnvironment(); err != nil {
		return o, err
	}
	return o.withDefaults()
}

// keysFromEnvironment fills the fields with keys.
func (o *Options) keysFromEnvironment() error {
	if text := os.Getenv(keysVariable); len(o.Keys) == 0 && !o.Unsigned && text != "" {
		for _, path := range filepath.SplitList(text) {
			if path == acceptUnsigned {
				o.Unsigned = true
				continue
			}
			key, err := pack.ReadPublicKey(path)
			if err != nil {
				return fmt.Errorf("remote: %s: %w", keysVariable, err)
			}
			o.Keys = append(o.Keys, key)
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

// withDefaults returns o with its defaults.
func (o Options) withDefaults() (Options, error) {
	if o.Mode == "" {
		o.Mode = Read
	}
	if o.Mode != Off && o.Mode != Read && o.Mode != ReadWrite {
		return o, fmt.Errorf("remote: mode %q: use %s, %s or %s", o.Mode, Off, Read, ReadWrite)
	}
	if o.Budget < 0 || o.Patience < 0 || o.LeaseTime < 0 || o.MaxBytes < 0 {
		return o, errors.New("remote: a negative budget, patience, lease time or limit")
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.LeaseTime == 0 {
		o.LeaseTime = defaultLeaseTime
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return o, nil
}

// publicKeys returns Keys and the public key of SignKey.
func (o *Options) publicKeys() []ed25519.PublicKey {
	keys := o.Keys
	if o.SignKey != nil {
		keys = append(keys[:len(keys):len(keys)], o.SignKey.Public().(ed25519.PublicKey))
	}
	return keys
}
