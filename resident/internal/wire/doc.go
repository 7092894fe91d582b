// Package wire accesses the memory that the host and a resident kernel share: the
// command block that the host writes, the status that the kernel writes at the end of
// a tick, and checked messages in both directions. It works on mapped words and uses
// no GL.
package wire
