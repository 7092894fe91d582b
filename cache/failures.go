package cache

import (
	"errors"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/shadercache/shadercache/shader"
)

// maxFailures bounds the compile errors in memory. Each holds its source and
// the driver's log, some 10 KB.
const maxFailures = 256

// failures holds the errors of the latest sources that did not compile. Its owner
// guards it with Cache.mu.
type failures struct {
	errs *simplelru.LRU[shader.Key, *shader.CompileError] // nil: off
}

func newFailures(off bool) failures {
	if off {
		return failures{}
	}
	errs, err := simplelru.NewLRU[shader.Key, *shader.CompileError](maxFailures, nil)
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

// knownFailure returns and counts the compile error of a source that did not
// compile before, or nil. The caller holds mu.
func (c *Cache) knownFailure(src *shader.Source) error {
	if err := c.mu.failures.find(src.Key()); err != nil {
		c.mu.counters.pending.NegativeHits++
		return err.For(src)
	}
	return nil
}

// readFailure returns the compile error that the store keeps for src, or nil.
func (c *Cache) readFailure(src *shader.Source) error {
	if !c.options.KeepCompileErrors {
		return nil
	}
	failure := c.store.Failure(src)
	if failure == nil {
		return nil
	}
	return &storedFailure{failure}
}

// storedFailure is a compile error of an earlier process.
type storedFailure struct{ *shader.CompileError }

func (e *storedFailure) Unwrap() error { return e.CompileError }

// addFailure counts and keeps a compile error, unless its reason may be another next time,
// and returns it without the mark that it came from the store. The caller holds mu.
func (c *Cache) addFailure(src *shader.Source, err error) error {
	failure, stored := errors.AsType[*storedFailure](err)
	if stored {
		err = failure.CompileError
		c.mu.counters.pending.NegativeHits++
	} else {
		c.mu.counters.pending.CompileErrors++
	}
	compileError, _ := errors.AsType[*shader.CompileError](err)
	if !stored && !compileError.BlamesSource() {
		return err
	}
	c.mu.failures.add(src.Key(), compileError)
	if c.options.KeepCompileErrors && !stored {
		c.addTask(task{what: "writing a compile error", do: func() error { return c.store.PutFailure(src, compileError.Log) }})
	}
	return err
}
