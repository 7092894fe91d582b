// Package portable tests that packages compile for other systems. It checks their types,
// which finds what a compiler would find in less than a tenth of the time: nothing is
// compiled, and of other modules and of Go's library only declarations are read.
package portable
