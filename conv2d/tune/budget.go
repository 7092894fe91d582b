//go:build linux

package tune

import "time"

// left returns what is left of the budget.
func (s *search) left() time.Duration { return time.Until(s.deadline) }

// atOnce returns how many candidates are compiled together: no more than are done, since a
// short budget should not compile many that it skips, and no more than the time that is
// left is enough for, perhaps none.
func (s *search) atOnce(left time.Duration) int {
	n := min(max(len(s.found), 1), mostAtOnce)
	for s.best > 0 && n > 0 && s.expected(n) > left {
		n--
	}
	return n
}

// expected returns how long n more candidates are likely to take: to compile, side by side
// as the earlier ones, but no less than the slowest alone, and to be compared.
func (s *search) expected(n int) time.Duration {
	compile := time.Duration(n) * s.spent.Compile / time.Duration(max(1, len(s.found)))
	return max(compile, s.programs.slowest()) + time.Duration(n)*s.comparison()
}

// comparison returns how long it takes to compare a candidate, by the mean so far. Before the
// first it follows from the one that was measured in full.
func (s *search) comparison() time.Duration {
	switch {
	case s.full:
		return s.whole.mean()
	case s.compared.n > 0:
		return s.compared.mean()
	}
	return s.spent.Check + compareAfter + 2*comparisons*time.Duration(max(comparisonNanos, s.best))
}

// measured counts candidates and the time that they took to check and to time.
type measured struct {
	n    int
	took time.Duration
}

func (m *measured) add(took time.Duration) { m.n, m.took = m.n+1, m.took+took }

func (m measured) mean() time.Duration { return m.took / time.Duration(max(1, m.n)) }

// isSpent reports whether the budget is not enough to compare one more. One candidate is
// measured in any case.
func (s *search) isSpent() bool { return s.best > 0 && (s.ended || s.left() < s.comparison()) }
