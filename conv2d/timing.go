//go:build linux

package conv2d

import (
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/shader"
)

// Timing says what one call of a [Runner] cost, in the order in which it came.
type Timing struct {
	Shape    Shape
	Choice   Choice
	Programs []ProgramOrigin // sorted by name
	Plan     time.Duration   // until programs and memory were ready
	Upload   time.Duration   // input, weights and bias, and preparing weights
	Run      time.Duration   // from submitting the run until the GPU had finished
	Readback time.Duration   // copying the result to the host
}

// ProgramOrigin says where a program of a plan came from.
type ProgramOrigin struct {
	Name   string
	Key    shader.Key
	Origin cache.Origin
}
