//go:build linux

package resident

import "time"

// Stats counts what a session did since New.
type Stats struct {
	Steps           uint64 `json:"steps"`
	Ticks           uint64 `json:"ticks"`       // dispatches that wrote a status
	Dispatches      uint64 `json:"dispatches"`  // issued, with the empty ones of a chain
	Submissions     uint64 `json:"submissions"` // fences
	InFlight        uint64 `json:"under_way"`   // largest number of submissions in flight
	Polls           uint64 `json:"looks"`       // polls of fences
	Sleeps          uint64 `json:"naps"`        // sleeps of the scheduler between polls
	Alignments      uint64 `json:"alignments"`  // ticks that brought groups to the same step
	Preemptions     uint64 `json:"preemptions"` // served
	Checkpoints     uint64 `json:"checkpoints"`
	CheckpointBytes uint64 `json:"checkpoint_bytes"` // written to Options.Checkpoints
	Logged          uint64 `json:"logged"`           // entries, as of the last call of Logs
	Forwarded       uint64 `json:"forwarded"`        // messages to other sessions

	// LongestTick is the duration of the longest submission by the GPU's clock, or an
	// upper bound by the host's polls where the GPU's clock is implausible.
	LongestTick time.Duration `json:"longest_tick_ns"`

	// ActiveGroups of LaunchedGroups did a step in the last tick of each submission.
	// Lanes is the sum of residentLanes as of the last call of Logs, to be compared with
	// LaunchedLanes: steps * groups * lanes of a group.
	ActiveGroups   uint64 `json:"active_groups"`
	LaunchedGroups uint64 `json:"launched_groups"`
	Lanes          uint64 `json:"lanes"`
	LaunchedLanes  uint64 `json:"launched_lanes"`
}

// Stats returns the counters. It may be called at any time, after Close too.
func (s *Session) Stats() (all Stats) {
	lanes := uint64(s.config.group[0]) * uint64(s.config.group[1]) * uint64(s.config.group[2])
	if !s.config.kernel.Claim {
		lanes *= uint64(s.config.kernel.Groups)
	}
	s.run.count(func(n *Stats) { all = *n })
	all.LaunchedLanes = all.Steps * lanes
	return all
}
