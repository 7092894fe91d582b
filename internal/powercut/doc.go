// Package powercut gives tests a file system that loses its power, and processes that
// are killed before a chosen system call.
package powercut
