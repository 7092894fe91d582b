// Package cli is what commands share: global flags and flag types, the GPU that they
// open, results as tables or JSON with their documentation, errors with hints, progress,
// interrupts, and manual pages.
package cli
