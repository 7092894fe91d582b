package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
)

const (
	hitsCheck = "hits"

	recentStarts = 10 // that are examined
	newTexts     = 3  // starts in a row that compiled another text of one program
	newCompiles  = 5  // starts in a row that compiled most of what they loaded
	newCode      = 3  // starts in a row whose driver made most machine code again
	maxNamed     = 3  // programs that are named
)

// examineHits detects a cache that starts fill and do not find anything in: other checks
// may all pass on it. It examines the latest starts, since the first always compile.
func (r *Report) examineHits(dir *binary.Dir) {
	all := dir.Starts(time.Time{})
	r.examineMachineCode(all)
	recent := latestStarts(all, recentStarts)
	sum := cli.SumStarts(recent)
	compiles := sum.Compiles - min(sum.StoreOnly, sum.Compiles)
	if changing := changingTexts(dir.Recompiled(), all); len(changing) > 0 {
		for _, c := range changing[:min(len(changing), maxNamed)] {
			r.wrong(hitsCheck, "keep that text the same from start to start: pass what varies in a buffer or uniform",
				"each of the last %d starts compiled %q anew: its texts differ in line %d: %s", c.Starts, c.Name, c.Line, c.Text)
		}
		if more := len(changing) - maxNamed; more > 0 {
			r.wrong(hitsCheck, "keep their texts the same from start to start", "%s more whose texts differ at each start", cli.Plural(more, "program"))
		}
		return
	}
	switch {
	case sum.Starts == 0:
		r.note(hitsCheck, "", "no start was recorded so far: a process counts when it ends or calls Flush")
	case sum.Rejected > sum.DiskHits:
		r.wrong(hitsCheck, "shadercache selftest", "in the last %s the driver refused %s and loaded %d",
			cli.Plural(sum.Starts, "start"), cli.Plural(sum.Rejected, "binary file"), sum.DiskHits)
	case eachOf(recent, newCompiles, compiledMost):
		r.wrong(hitsCheck, "shadercache selftest", "each of the last %s compiled: %d compiled, %d found on disk",
			cli.Plural(sum.Starts, "start"), compiles, sum.DiskHits)
	case sum.DiskHits == 0:
		r.note(hitsCheck, "", "%s compiled %d and found nothing on disk: a further start shows whether the cache hits",
			cli.Plural(sum.Starts, "start"), compiles)
	default:
		first := ""
		if ready := sum.FirstReady(); ready > 0 {
			first = fmt.Sprintf("; the first program was ready after %.1f ms on average", cli.Milliseconds(ready))
		}
		r.good(hitsCheck, "the last %s found %d on disk and compiled %d%s", cli.Plural(sum.Starts, "start"), sum.DiskHits, compiles, first)
	}
}

// examineMachineCode detects a driver that loses what it compiled: programs are found and
// their first dispatch is slow.
func (r *Report) examineMachineCode(all []binary.Starts) {
	sum := cli.SumStarts(latestStarts(all, newCode))
	loaded := sum.DiskHits + sum.MemoryHits
	lost := eachOf(all, newCode, func(c binary.Counters) bool {
		return 2*c.MachineCodeMisses > c.DiskHits+c.MemoryHits
	})
	if lost && loaded > 0 {
		r.wrong(driverCacheCheck, "shadercache selftest", "each of the last %s found programs, but their driver made the machine code again: for %d of %d",
			cli.Plural(sum.Starts, "start"), sum.MachineCodeMisses, loaded)
	}
}

// latestStarts returns the end of all that has n starts, or all of it.
func latestStarts(all []binary.Starts, n uint64) []binary.Starts {
	starts := uint64(0)
	for i, s := range slices.Backward(all) {
		if starts += s.Counters.Starts; starts >= n {
			return all[i:]
		}
	}
	return all
}

// compiledMost reports whether starts compiled, and more than they found on disk.
func compiledMost(c binary.Counters) bool { return c.CompilesPerStart() >= 1 && c.DiskRate() < 0.5 }

// eachOf reports whether a condition holds for each of the last n starts, and whether
// there are as many.
func eachOf(all []binary.Starts, n uint64, holds func(binary.Counters) bool) bool {
	last := latestStarts(all, n)
	fails := func(s binary.Starts) bool { return s.Counters.Starts > 0 && !holds(s.Counters) }
	return cli.SumStarts(last).Starts >= n && !slices.ContainsFunc(last, fails)
}

// changingTexts returns the programs that starts compile again and again, each time from
// another text: one of the last starts did, and at least half of those since the first.
func changingTexts(all []binary.Recompiled, starts []binary.Starts) (changing []binary.Recompiled) {
	last := latestStarts(starts, newTexts)
	for _, c := range all {
		if c.Starts < newTexts || len(last) == 0 || c.Last.Before(last[0].Time) {
			continue
		}
		since := slices.IndexFunc(starts, func(s binary.Starts) bool { return s.Time.After(c.First) })
		others := uint64(0)
		if since >= 0 {
			others = cli.SumStarts(starts[since:]).Starts
		}
		if uint64(c.Starts)*2 > others {
			changing = append(changing, c)
		}
	}
	slices.SortFunc(changing, func(a, b binary.Recompiled) int { return b.Starts - a.Starts })
	return changing
}
