// Package nvidia merges the slots of NVIDIA's own cache of machine code.
//
// Processes that run at the same time write one slot each, and a later process reads
// one slot only: after four workers it would compile three quarters again. [Merge]
// moves the records of all slots into slot 0.
//
// The format is not documented. It was derived from files of driver 580.159.04.
// Numbers are little endian:
//
//	file    bytes         content
//	both    0-31          "CDVN", version 0x00030000, 24 bytes that identify driver and GPU
//	.toc    24 each       entries, from 32: hash 8, kind 8, offset in .bin 4, size 4
//	.bin    32 + size     records, from 32: tag 4, hash 8, kind 8, sum 8, size 4; then the data
//
// An entry's offset is that of its record, and the records fill the file in the
// order of the entries. All of these rules are checked, and a slot that breaks one is
// skipped: the driver discards such a slot and compiles. The meaning of tag and sum is
// not known. They are copied with the record, and the driver checks them.
package nvidia
