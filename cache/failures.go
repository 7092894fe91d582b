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

// addFailure counts and keeps the compile error of a flight, unless its reason may be another
// next time. The caller holds mu.
func (c *Cache) addFailure(f *flight, err error) {
	stored := f.answer.source == keptError
	if stored {
		c.mu.counters.pending.NegativeHits++
	} else {
		c.mu.counters.pending.CompileErrors++
	}
	compileError, _ := errors.AsType[*shader.CompileError](err)
	if !stored && !compileError.BlamesSource() {
		return
	}
	src := f.src
	c.mu.failures.add(src.Key(), compileError)
	if c.options.KeepCompileErrors && !stored {
		c.addTask(task{what: "writing a compile error", do: func() error { return c.store.PutFailure(src, compileError.Log) }})
	}
}
