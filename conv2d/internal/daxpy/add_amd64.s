#include "textflag.h"

// func addVector(sums, magnitudes *float64, x *float32, factor float64, n int)
//
// n is a positive multiple of 4. Y0 holds the factor, Y1 its absolute value, Y2 all bits but
// the sign.
TEXT ·addVector(SB), NOSPLIT, $0-40
	MOVQ sums+0(FP), DI
	MOVQ magnitudes+8(FP), SI
	MOVQ x+16(FP), DX
	VBROADCASTSD factor+24(FP), Y0
	MOVQ n+32(FP), CX
	VPCMPEQD Y2, Y2, Y2
	VPSRLQ $1, Y2, Y2
	VANDPD Y2, Y0, Y1
	XORQ AX, AX

elements:
	VCVTPS2PD (DX)(AX*4), Y3
	VMOVUPD (DI)(AX*8), Y4
	VMOVUPD (SI)(AX*8), Y5
	VFMADD231PD Y3, Y0, Y4
	VANDPD Y2, Y3, Y3
	VFMADD231PD Y3, Y1, Y5
	VMOVUPD Y4, (DI)(AX*8)
	VMOVUPD Y5, (SI)(AX*8)
	ADDQ $4, AX
	CMPQ AX, CX
	JLT elements

	VZEROUPPER
	RET
