//go:build !amd64

package sgemm

const supported = false

func tileVector(_, _, _ *float32, _, _ int) { panic(unsupported) }

func dotVector(_, _ *float32, _ int) float32 { panic(unsupported) }

func streamVector(_, _ *float32, _ int, _ *[streamK]float32, _ int) { panic(unsupported) }
