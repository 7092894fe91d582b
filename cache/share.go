package cache

import (
	"context"
	"time"
)

// sharePoll is how often a claim of another process is looked at: short beside compiling,
// which takes tens of milliseconds.
const sharePoll = time.Millisecond

// sharesCompiles reports whether programs are claimed before they are compiled. A claim is
// held until the binary is stored, so it takes a store, and binaries that are written at
// once.
func (c *Cache) sharesCompiles() bool {
	return c.options.ShareCompiles > 0 && c.options.Save == SaveBehind && c.hasStore() && c.formats && c.sourceOnly == "" && !c.options.InTrial
}

// compileShared is compile where other processes may want the same programs at the same
// time: each is compiled by the first that claims it, one at a time so that none waits
// for a program that is not being compiled, and loaded by the others. Programs for which
// nothing happened for as long as Options.ShareCompiles are compiled without a claim.
func (c *Cache) compileShared(ctx context.Context, loads []*load, done func(result)) {
	last := time.Now()
	for len(loads) > 0 && ctx.Err() == nil {
		left := c.compileClaimed(ctx, loads, done)
		if len(left) < len(loads) {
			last = time.Now()
		} else if time.Since(last) >= c.options.ShareCompiles {
			break
		} else {
			c.pause(ctx, sharePoll)
		}
		loads = left
	}
	c.compileAll(ctx, loads, done)
}

// compileClaimed loads or compiles what no other process is compiling, and returns the
// rest.
func (c *Cache) compileClaimed(ctx context.Context, loads []*load, done func(result)) (left []*load) {
	for _, l := range loads {
		release, claimed := c.store.Claim(l.src.Key())
		if !claimed {
			left = append(left, l)
			continue
		}
		if r := c.loadStored(ctx, l); !r.missed() { // stored since the request was a miss
			release()
			done(r)
			continue
		}
		c.compileAll(ctx, []*load{l}, func(r result) {
			if r.entry == nil {
				release()
			} else {
				r.entry.claim = release
			}
			done(r)
		})
	}
	return left
}

// pause waits, on the device's own thread with its work.
func (c *Cache) pause(ctx context.Context, d time.Duration) {
	c.dev.PollWhile(func() {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	})
}

// endClaim releases the claim on a program that is not going to be stored.
func (e *entry) endClaim() {
	if e.claim != nil {
		e.claim()
	}
}
