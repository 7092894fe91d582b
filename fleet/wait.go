package fleet

import "time"

// How long a start waits where Options.Budget leaves it open. The head has to answer within
// a constant time, since nothing is known before. It says what its packs save: the time that
// a machine took to compile their programs. A start waits for the packs for half of that, so
// that it takes at most half as long again as without a remote, however the transfer ends.
const (
	headWait   = 150 * time.Millisecond
	packShare  = 2 // of what the packs save, a start waits for one part
	longestFor = 5 * time.Second

	longestHead = time.Second
)

// HeadWait returns how long a start waits for the head of a remote.
func (o Options) HeadWait() time.Duration {
	if o.Budget > 0 {
		return o.Budget
	}
	return headWait
}

// PackWait returns how long a start waits, since it asked for the head, for packs that save a
// time of compiling. 0 means that this time is not known.
func (o Options) PackWait(saves time.Duration) time.Duration {
	if o.Budget > 0 || saves <= 0 {
		return o.HeadWait()
	}
	return min(saves/packShare, longestFor)
}

// headWait is Options.HeadWait, or the time since Prepare, in which the caller made its context,
// where that is longer: a machine whose CPUs are taken is slow at both.
func (r *Remote) headWait() time.Duration {
	wait := r.options.HeadWait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Budget > 0 || r.mu.prepared.IsZero() {
		return wait
	}
	return max(wait, min(time.Since(r.mu.prepared), longestHead))
}

// saves returns how long the programs of packs took to compile where they were made.
func saves(packs []Pack) (total time.Duration) {
	for _, p := range packs {
		total += p.Saves
	}
	return total
}

// left returns how long this start still waits. A process that waited for another one of the
// machine, which recorded what the packs of its head save, has its own time after that, but
// for a budget, which bounds both.
func (j *startJob) left() time.Duration {
	j.mu.Lock()
	asked, answered, missing := j.asked, j.answered, j.missing
	j.mu.Unlock()
	o, began := j.r.options, j.began
	wait := j.answer
	if asked.IsZero() {
		if s := j.r.state.driver(j.of); j.r.now().Sub(s.Checked).Abs() < recheck {
			wait = o.PackWait(s.Saves)
		}
	} else if o.Budget == 0 {
		began = asked
	}
	if answered {
		wait = o.packWaitAt(missing, j.r.Counters())
	}
	return wait - time.Since(began)
}

// packWaitAt is PackWait for packs of a remote whose pulls so far are counted: packs that
// would take longer than that at the rate of those pulls are not waited for.
func (o Options) packWaitAt(packs []Pack, before Counters) time.Duration {
	wait := o.PackWait(saves(packs))
	size := (&Head{Packs: packs}).Bytes()
	if o.Budget == 0 && before.Bytes > 0 && float64(before.Time)*float64(size) > float64(wait)*float64(before.Bytes) {
		return 0
	}
	return wait
}
