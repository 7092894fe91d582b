// Package interpreter is a demonstration: it runs programs of 64-bit ARM instructions on
// the GPU, on one machine or on thousands, one machine to an invocation or to a work
// group. It shows how a
// long computation is divided into dispatches and resumed, and is not a part of the
// library.
//
// The registers, flags, memory and program counter of a machine stay in buffers. A
// dispatch runs a batch, a bounded number of instructions, and stores the state for the
// next one: so batches can be submitted in several forms with the same result, bit by
// bit.
//
//	form        between two batches
//	standard    the host waits, reads the state of every machine and decides
//	continuous  the next batch runs while the host reads the report of the one before
//	mega        nothing: one batch, as long as the driver allows loops to be
//	chained     the GPU itself decides whether the next batch, already submitted, runs
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
// and with Options.Vectors, of the scalable vector extension, with registers of 2048 bits:
//
//	ADD   SUB EOR MUL    Zd.D, Zn.D, Zm.D
//	DUP                  Zd.D, Xn|SP
//	INDEX                Zd.D, Xn, Xm
//	LDR   STR            Zt, [Xn|SP {, #imm, MUL VL}], imm -256 to 255
//
// Encodings are those of the architecture. All others are undefined and stop the machine
// with a fault. Registers have 64 bits; 32-bit forms are undefined.
//
// # Memory
//
// The memory of a machine begins at address 0. The code is a part of it and can be read
// but not written: it is decoded when it is loaded, so changes would have no effect, and
// a write to it is a fault. An access outside the memory or not aligned to 8 bytes is a
// fault too, also of a vector register.
//
// # One machine, many machines
//
// One machine uses one lane of the GPU: every instruction waits for the one before, and
// the clock of a GPU is slow. Many machines take the same time until the GPU is full.
// Machines that branch differently take turns within 32 lanes. With
// Options.MachinePerGroup a machine has a work group: one lane does its instructions, and
// those on vectors are broadcast to all, which do an element each.
package interpreter
