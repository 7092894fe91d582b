// Package wire encodes and decodes the messages between a shadercache server and its
// clients, as docs/protocol.md defines them: frames of a fixed header and a body of
// fields in a fixed order, little endian, without padding.
//
// Every message has one method, its layout, by which [Append] appends its body to a slice, and
// [Decode] reads a body, of which no byte is trusted: it returns [ErrMalformed], wrapped, for a
// body that ends early, has bytes left over, or has a count, length or code out of range. Decoded
// slices of bytes are parts of the body. Decode reuses the slices of a job that it fills, so that
// a server decodes one without allocations.
//
// The package is pure Go. A job is a job.Job on both sides: here is its encoding alone.
package wire
