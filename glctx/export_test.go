//go:build linux

package glctx

import "time"

// OwnContext exports ownContext to package glctx_test.
var OwnContext = ownContext

// WithoutTurns lets both contexts of b work at any time.
func WithoutTurns(b *Beside) { b.turns.patience = time.Nanosecond }
