//go:build !amd64

package daxpy

const supported = false

func addVector(_, _ *float64, _ *float32, _ float64, _ int) { panic("daxpy: not supported") }
