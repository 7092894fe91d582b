package resident

import "time"

// Capabilities are what a driver does beyond what GL promises, measured by
// Probe.
type Capabilities struct {
	HostWritesSeen   bool          `json:"host_writes_seen"`   // a kernel sees them during its dispatch
	KernelWritesSeen bool          `json:"kernel_writes_seen"` // the host sees them during the dispatch
	Residency        uint32        `json:"residency"`          // groups of ResidencyGroup invocations that can wait for each other; 0: none
	ResidencyGroup   uint32        `json:"residency_group"`
	Barrier          time.Duration `json:"barrier_ns"`    // grid barrier of Residency groups
	RoundTrip        time.Duration `json:"round_trip_ns"` // host to kernel and back, in flight; 0: not possible
	LoopLimit        uint32        `json:"loop_limit"`    // back-edges of an invocation after which loops end; 0: no end was found
}
