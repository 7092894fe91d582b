package interpreter

import "time"

// Result is the result of a run of all machines.
type Result struct {
	Form       string        // standard, continuous, mega, chained
	Cycles     uint64        // instructions done, by all machines
	Wall       time.Duration // from the first dispatch until the host detected the end of the last one
	IPS        float64       // Cycles in a second
	Signal     Signal        // of machine 0
	Number     uint16        // of the HLT or SVC at which machine 0 stopped
	Fault      Fault         // of machine 0
	Address    uint64        // of the access of machine 0 that failed or is watched
	FinalPC    uint64        // of machine 0
	Signals    [signals]int  // number of machines with each Signal
	Batches    int
	Dispatches int
	Cut        int // batches in which the driver ended a loop early; the next one resumed it
	Syscalls   int // served by handlers
}
