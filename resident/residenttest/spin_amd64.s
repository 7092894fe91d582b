#include "textflag.h"

// func Pause()
TEXT ·Pause(SB), NOSPLIT, $0-0
	PAUSE
	RET

// func Stream(at *uint32, word uint32)
TEXT ·Stream(SB), NOSPLIT, $0-12
	MOVQ at+0(FP), DI
	MOVL word+8(FP), AX
	MOVNTIL AX, (DI)
	SFENCE
	RET
