// Package cli holds what the commands share: the global flags, the GPU that they
// open, output as a table or JSON, failures with hints, progress, and interrupts.
package cli
