package fleet

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"
)

// Errors of a Backend. They are returned wrapped, with the cause and a hint.
var (
	// ErrNotFound is returned for an object, or a whole remote, that does not exist.
	ErrNotFound = errors.New("remote: not found")
	// ErrChanged is returned by Put when the object is not the one that the caller had read.
	ErrChanged = errors.New("remote: changed by another writer")
	// ErrDenied is returned when the store refuses the credentials, or lacks them.
	ErrDenied = errors.New("remote: access denied")
	// ErrBusy is matched by a *BusyError: the store asks its clients to wait.
	ErrBusy = errors.New("remote: busy")
	// ErrUnreachable is returned when the store does not answer: no connection, no name,
	// no answer in time, an answer that ends early.
	ErrUnreachable = errors.New("remote: unreachable")
	// ErrProtocol is returned for an answer that no such store gives: a web page of a
	// captive portal, a wrong length, a redirect to another host.
	ErrProtocol = errors.New("remote: not an answer of a store")
)

// BusyError is returned for 429 and 503. It matches ErrBusy.
type BusyError struct {
	RetryAfter time.Duration // 0 = the store did not give one
}

// Backend is a store of objects by name. Names are slash-separated, of the forms in the
// package comment, without the prefix. Its methods may be called from any goroutine. They
// return when ctx ends, whatever the store does, and do not retry: the caller has the budget.
type Backend interface {
	// Connect makes a connection ready for the first Get, or does nothing where the store
	// has none. It asks for no object. Its error is one that the first Get would return too,
	// so callers may ignore it.
	Connect(ctx context.Context) error

	// Get opens an object, whose Body begins at a byte. The caller closes Object.Body. A
	// backend reads no more of the body than the caller does. It returns
	// errors.ErrUnsupported, wrapped, for another byte than the first where the store sends
	// whole objects only.
	Get(ctx context.Context, name string, first int64) (*Object, error)

	// Put writes an object, whole or not at all, and returns its tag, or "" where the store
	// does not give it. It reads data from its start, and may do so repeatedly.
	Put(ctx context.Context, name string, data io.ReadSeeker, o PutOptions) (tag string, err error)

	// Delete deletes an object. One that does not exist is no error.
	Delete(ctx context.Context, name string) error

	// List returns the objects below a folder ("v1/" for all), in any order. It returns
	// errors.ErrUnsupported, wrapped, where the store cannot list.
	List(ctx context.Context, folder string) ([]Info, error)

	// Abilities returns what the store can do. The first call may ask the store, by writing
	// and deleting an object below "v1/": a caller that only reads has no use for it.
	Abilities(ctx context.Context) (Abilities, error)

	Close() error
}

// Object is an object that is being read.
type Object struct {
	Body io.ReadCloser
	Size int64  // bytes of the whole object; -1 = unknown
	Tag  string // identifies this version; "" = unknown, and Put then has no condition

	Clock time.Time // of the store, when it answered; zero = unknown
}

// Info describes an object of a listing.
type Info struct {
	Name    string
	Size    int64
	Changed time.Time // zero = unknown
}

// PutOptions are the conditions of a Put, and what registries show about a head.
type PutOptions struct {
	Size int64

	// IfTag makes Put fail with ErrChanged unless the object has this tag; IfAbsent,
	// unless it does not exist. A backend without Abilities.CompareAndSwap ignores both.
	IfTag    string
	IfAbsent bool

	// Packs are those of the head that is written: an OCI backend refers to them, so that
	// the registry keeps them. Annotations describe the head for people.
	Packs       []Pack
	Annotations map[string]string
}

// Abilities are what a store can do.
type Abilities struct {
	CompareAndSwap bool // Put honours IfTag and IfAbsent: heads do not get lost, and leases work
	List           bool // where it is asked to; some registries refuse
	Delete         bool // the same
}

// Opener opens a backend for a URL. It does not wait for the network; it may begin to
// connect.
type Opener func(u *url.URL, o BackendOptions) (Backend, error)

// BackendOptions are what every backend needs.
type BackendOptions struct {
	UserAgent string
	Getenv    func(string) string // for credentials and settings
}
