package resident

import "time"

// Capabilities describes what a driver does beyond the guarantees of GL, as measured by
// Probe.
type Capabilities struct {
	HostWritesSeen   bool          `json:"host_writes_seen"`   // a kernel sees host writes during its dispatch
	KernelWritesSeen bool          `json:"kernel_writes_seen"` // the host sees kernel writes during the dispatch
	DispatchReturns  bool          `json:"dispatch_returns"`   // the call that dispatches a kernel returns while the kernel runs
	Residency        uint32        `json:"residency"`          // co-resident groups of ResidencyGroup invocations: they can wait for each other; 0: none
	ResidencyGroup   uint32        `json:"residency_group"`
	Barrier          time.Duration `json:"barrier_ns"`    // grid barrier of Residency groups
	RoundTrip        time.Duration `json:"round_trip_ns"` // host to a running kernel and back; 0: not possible
	LoopLimit        uint32        `json:"loop_limit"`    // turns of an invocation after which the driver ends loops; 0: none found

	cutTicks bool // for tests: a tick that the driver ends early is no error
}
