//go:build linux

package resident

import "time"

// Stats count what a session did since it was made.
type Stats struct {
	Steps           uint64 `json:"steps"`
	Ticks           uint64 `json:"ticks"`       // dispatches that reported
	Dispatches      uint64 `json:"dispatches"`  // that were issued; empty ones of a chain are among them
	Submissions     uint64 `json:"submissions"` // fences
	UnderWay        uint64 `json:"under_way"`   // submissions at a time, at most
	Looks           uint64 `json:"looks"`       // at fences
	Naps            uint64 `json:"naps"`        // between looks: times that the driver woke during ticks
	Alignments      uint64 `json:"alignments"`  // ticks that brought groups to the same step
	Preemptions     uint64 `json:"preemptions"` // that were served
	Checkpoints     uint64 `json:"checkpoints"`
	CheckpointBytes uint64 `json:"checkpoint_bytes"` // that were written to Options.Checkpoints
	Logged          uint64 `json:"logged"`           // entries, at the last look at the log

	// LongestTick is what the longest submission took on the GPU, by the GPU's
	// clock, or where that makes no sense at most, as the host saw it.
	LongestTick time.Duration `json:"longest_tick_ns"`

	// ActiveGroups of LaunchedGroups did a step in the tick that reported last
	// for each submission. Lanes is what the kernel said by residentLanes, as of
	// the last look at it; it compares with Steps * groups * lanes of a group.
	ActiveGroups   uint64 `json:"active_groups"`
	LaunchedGroups uint64 `json:"launched_groups"`
	Lanes          uint64 `json:"lanes"`
	LaunchedLanes  uint64 `json:"launched_lanes"`
}

// Stats may be called at any time, after Close too.
func (s *Session) Stats() Stats {
	n := &s.counts
	size := s.group
	lanes := uint64(size[0]) * uint64(size[1]) * uint64(size[2])
	if !s.kernel.Claim {
		lanes *= uint64(s.kernel.Groups)
	}
	return Stats{
		Steps:           n.steps.Load(),
		Ticks:           n.ticks.Load(),
		Dispatches:      n.dispatches.Load(),
		Submissions:     n.submissions.Load(),
		UnderWay:        n.underWay.Load(),
		Looks:           n.looks.Load(),
		Naps:            n.naps.Load(),
		Alignments:      n.alignments.Load(),
		Preemptions:     n.preemptions.Load(),
		Checkpoints:     n.checkpoints.Load(),
		CheckpointBytes: n.checkpointBytes.Load(),
		Logged:          n.logged.Load(),
		LongestTick:     time.Duration(n.longest.Load()),
		ActiveGroups:    n.activeGroups.Load(),
		LaunchedGroups:  n.launchedGroups.Load(),
		Lanes:           n.lanes.Load(),
		LaunchedLanes:   n.steps.Load() * lanes,
	}
}
