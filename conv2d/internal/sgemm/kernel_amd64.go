package sgemm

import "golang.org/x/sys/cpu"

var supported = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func tileVector(sums, a, b *float32, k, ldb int)

//go:noescape
func dotVector(a, b *float32, n int) float32

//go:noescape
func streamVector(sums, b *float32, ldb int, a *[streamK]float32, n int)
