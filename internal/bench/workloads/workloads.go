// Package workloads measures whole programs on the GPU: the interpreter and the
// simulation of package demo, and a work queue.
package workloads
