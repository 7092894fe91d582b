package daxpy

import "golang.org/x/sys/cpu"

var supported = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func addVector(sums, magnitudes *float64, x *float32, factor float64, n int)
