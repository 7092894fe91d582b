package cache

import (
	"errors"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/shadercache/shadercache/shader"
)

// failuresKept bounds the compile errors in memory. Each holds its source and
// the driver's log, some 10 KB.
const failuresKept = 256

// FailureKeeper is what a Store has that remembers sources which the driver
// refuses. *binary.Store has it; Options.KeepCompileErrors makes use of it.
type FailureKeeper interface {
	// Failure is what PutFailure remembered, or nil.
	Failure(src *Source) *shader.CompileError

	// PutFailure remembers that src does not compile, with the driver's log.
	PutFailure(src *Source, log string) error
}

// failures holds the errors of sources that did not compile, the latest ones.
// Its owner guards it with Cache.mu.
type failures struct {
	errs *simplelru.LRU[shader.Key, *shader.CompileError] // nil: off
}

func newFailures(off bool) failures {
	if off {
		return failures{}
	}
	errs, err := simplelru.NewLRU[shader.Key, *shader.CompileError](failuresKept, nil)
	if err != nil {
		panic("cache: simplelru refused a size: " + err.Error())
	}
	return failures{errs}
}

func (f *failures) find(key shader.Key) *shader.CompileError {
	if f.errs == nil {
		return nil
	}
	err, _ := f.errs.Get(key)
	return err
}

func (f *failures) add(key shader.Key, err *shader.CompileError) {
	if f.errs != nil {
		f.errs.Add(key, err)
	}
}

// knownFailure answers a request with an error that is known, or with nil. The
// caller holds mu.
func (c *Cache) knownFailure(key shader.Key) error {
	if err := c.mu.failures.find(key); err != nil {
		c.mu.ledger.fresh.NegativeHits++
		return err
	}
	return nil
}

// storedFailure is the compile error that the store remembers for src, or nil.
func (c *Cache) storedFailure(src *Source) error {
	keeper, ok := c.store.(FailureKeeper)
	if !ok || !c.options.KeepCompileErrors {
		return nil
	}
	failure := keeper.Failure(src)
	if failure == nil {
		return nil
	}
	return &storedFailure{failure}
}

// storedFailure is a compile error that did not happen in this process.
type storedFailure struct{ *shader.CompileError }

func (e *storedFailure) Unwrap() error { return e.CompileError }

// failed counts and remembers a compile error. The caller holds mu.
func (c *Cache) failed(src *Source, err error) error {
	stored, known := errors.AsType[*storedFailure](err)
	if known {
		err = stored.CompileError
		c.mu.ledger.fresh.NegativeHits++
	} else {
		c.mu.ledger.fresh.CompileErrors++
	}
	compileError, _ := errors.AsType[*shader.CompileError](err)
	c.mu.failures.add(src.Key(), compileError)
	if keeper, ok := c.store.(FailureKeeper); ok && c.options.KeepCompileErrors && !known {
		c.mu.unstored++
		c.enqueue(task{what: "remembering a compile error", do: func() error { return keeper.PutFailure(src, compileError.Log) }})
	}
	return err
}
