#include "textflag.h"

// func read() uint64
TEXT ·read(SB), NOSPLIT, $0-8
	LFENCE // the counter is not read before what is ahead of it has been done
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
