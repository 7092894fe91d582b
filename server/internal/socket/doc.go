//go:build linux

// Package socket connects clients with a server: it finds and guards the socket, sends
// and receives frames with their file descriptors, and makes and maps the memory that the
// two share. docs/protocol.md defines all of it.
//
// The package is pure Go.
package socket
