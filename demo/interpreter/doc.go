// Package interpreter runs programs of 64-bit ARM instructions on the GPU, on one
// machine or on thousands side by side, one machine to an invocation.
//
// A machine's registers, flags, memory and program counter stay in buffers. A
// dispatch runs a batch, a bounded number of instructions, and leaves everything
// there for the next: so that batches can follow one another in any form, and the
// end is the same to the bit.
//
//	form        between two batches
//	standard    the host waits, reads every machine's state and decides
//	continuous  one batch runs while the host looks at the report of the one before
//	mega        nothing: one batch as long as the driver lets loops be
//	chained     the GPU says itself whether the next batch, issued already, runs
//
// # Instructions
//
//	MOVZ  Xd, #imm16 {, LSL #0|16|32|48}
//	ADD   ADDS SUB SUBS  Xd|SP, Xn|SP, #imm12 {, LSL #12}
//	ADD   ADDS SUB SUBS  Xd, Xn, Xm
//	CMP   CMN            SUBS and ADDS that write XZR
//	LDR   STR            Xt, [Xn|SP {, #imm}], imm a multiple of 8 up to 32760
//	B     B.cond         label
//	HLT   SVC            #imm16
//
// Encodings are the real ones. Everything else is undefined and stops the machine
// with a fault. Registers have 64 bits; 32-bit forms are undefined.
//
// # Memory
//
// A machine's memory begins at address 0. The code is a part of it, may be read
// and never written: it was decoded when it was loaded, so code that changes
// itself would not be seen, and the write is a fault instead. An access beyond the
// memory or not aligned to 8 bytes is a fault too.
//
// # One machine, many machines
//
// One machine uses one lane of the whole GPU: every instruction waits for the one
// before, and the clock of a GPU is slow. Many machines cost the same time until
// the GPU is full. Machines that go separate ways take turns within 32 lanes.
package interpreter
