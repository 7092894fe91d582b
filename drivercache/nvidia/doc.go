// Package nvidia merges the slots of NVIDIA's own cache of machine code.
//
// Processes that run at the same time each write a slot of their own, and a
// later process reads one slot only: after four workers it would compile three
// quarters again. [Merge] brings all of them into slot 0.
//
// The format is not documented. It was read from files of driver 580.159.04;
// numbers are little endian:
//
//	file    bytes         content
//	both    0-31          "CDVN", version 0x00030000, 24 bytes that say which driver and GPU
//	.toc    24 each       entries, from 32: hash 8, kind 8, offset in .bin 4, size 4
//	.bin    32 + size     records, from 32: tag 4, hash 8, kind 8, sum 8, size 4; then the data
//
// An entry's offset is that of its record, and the records fill the file in the
// order of the entries. Every one of these rules is checked, and a slot that
// breaks one is left alone: the driver notices, discards it, and compiles. What
// tag and sum are made of is not known; both are copied with the record, and the
// driver goes on checking them.
package nvidia
