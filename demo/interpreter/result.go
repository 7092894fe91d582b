package interpreter

import "time"

// Result is what a run did, all machines together.
type Result struct {
	Form       string        // standard, continuous, mega, chained
	Cycles     uint64        // instructions done, by all machines
	Wall       time.Duration // from the first dispatch until the last was known to have ended
	IPS        float64       // Cycles in a second
	Signal     Signal        // of machine 0
	Number     uint16        // of the HLT or SVC that machine 0 stopped at
	Fault      Fault         // of machine 0
	Address    uint64        // of machine 0's access that failed, or is watched
	FinalPC    uint64        // of machine 0
	Stands     [signals]int  // how many machines stand with each Signal
	Batches    int
	Dispatches int
	Cut        int // batches in which the driver ended a loop before its time; nothing was lost
	Syscalls   int // served by handlers
}
