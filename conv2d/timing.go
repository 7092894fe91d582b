//go:build linux

package conv2d

import (
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Timing is the cost of one call of a [Runner], in the order of its phases.
type Timing struct {
	Shape    Shape
	Choice   Choice
	Programs []ProgramOrigin // sorted by name
	Plan     time.Duration   // until programs and memory were ready
	Upload   time.Duration   // input, weights and bias, and preparing weights
	Run      time.Duration   // from submitting the run until the GPU had finished
	Readback time.Duration   // copying the result to the host
}

// ProgramOrigin is the origin of a program of a plan.
type ProgramOrigin struct {
	Name   string
	Key    shader.Key
	Origin job.Origin
}
