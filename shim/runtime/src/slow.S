/* The way of a call that does not pass straight through its stub.
 *
 * A stub that comes here has changed nothing but r11, which no call preserves: all arguments are
 * where the caller put them. Of the registers that can hold an argument, the C code may use the six
 * for integers, xmm0 to xmm7, rax (the number of vector registers of a variadic call) and r10 (the
 * static chain); they are kept. Wider vectors are no arguments of any MIOpen function, which
 * signatures.hpp asserts. */
#include "state.h"

	.macro	save_arguments
	movq	%rdi, SHIM_FRAME_INTEGERS+0-SHIM_FRAME_SIZE(%rbp)
	movq	%rsi, SHIM_FRAME_INTEGERS+8-SHIM_FRAME_SIZE(%rbp)
	movq	%rdx, SHIM_FRAME_INTEGERS+16-SHIM_FRAME_SIZE(%rbp)
	movq	%rcx, SHIM_FRAME_INTEGERS+24-SHIM_FRAME_SIZE(%rbp)
	movq	%r8, SHIM_FRAME_INTEGERS+32-SHIM_FRAME_SIZE(%rbp)
	movq	%r9, SHIM_FRAME_INTEGERS+40-SHIM_FRAME_SIZE(%rbp)
	movq	%rax, SHIM_FRAME_INTEGERS+48-SHIM_FRAME_SIZE(%rbp)
	movq	%r10, SHIM_FRAME_INTEGERS+56-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm0, SHIM_FRAME_VECTORS+0-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm1, SHIM_FRAME_VECTORS+16-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm2, SHIM_FRAME_VECTORS+32-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm3, SHIM_FRAME_VECTORS+48-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm4, SHIM_FRAME_VECTORS+64-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm5, SHIM_FRAME_VECTORS+80-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm6, SHIM_FRAME_VECTORS+96-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm7, SHIM_FRAME_VECTORS+112-SHIM_FRAME_SIZE(%rbp)
	.endm

	.macro	restore_arguments
	movq	SHIM_FRAME_INTEGERS+0-SHIM_FRAME_SIZE(%rbp), %rdi
	movq	SHIM_FRAME_INTEGERS+8-SHIM_FRAME_SIZE(%rbp), %rsi
	movq	SHIM_FRAME_INTEGERS+16-SHIM_FRAME_SIZE(%rbp), %rdx
	movq	SHIM_FRAME_INTEGERS+24-SHIM_FRAME_SIZE(%rbp), %rcx
	movq	SHIM_FRAME_INTEGERS+32-SHIM_FRAME_SIZE(%rbp), %r8
	movq	SHIM_FRAME_INTEGERS+40-SHIM_FRAME_SIZE(%rbp), %r9
	movq	SHIM_FRAME_INTEGERS+48-SHIM_FRAME_SIZE(%rbp), %rax
	movq	SHIM_FRAME_INTEGERS+56-SHIM_FRAME_SIZE(%rbp), %r10
	movaps	SHIM_FRAME_VECTORS+0-SHIM_FRAME_SIZE(%rbp), %xmm0
	movaps	SHIM_FRAME_VECTORS+16-SHIM_FRAME_SIZE(%rbp), %xmm1
	movaps	SHIM_FRAME_VECTORS+32-SHIM_FRAME_SIZE(%rbp), %xmm2
	movaps	SHIM_FRAME_VECTORS+48-SHIM_FRAME_SIZE(%rbp), %xmm3
	movaps	SHIM_FRAME_VECTORS+64-SHIM_FRAME_SIZE(%rbp), %xmm4
	movaps	SHIM_FRAME_VECTORS+80-SHIM_FRAME_SIZE(%rbp), %xmm5
	movaps	SHIM_FRAME_VECTORS+96-SHIM_FRAME_SIZE(%rbp), %xmm6
	movaps	SHIM_FRAME_VECTORS+112-SHIM_FRAME_SIZE(%rbp), %xmm7
	.endm

	.text

/* Jumped to by a stub, with the index of the function in r11d. The stack is as the caller left it:
 * the return address on top, arguments above. */
	.p2align 4
	.globl	miopen_shim_slow
	.hidden	miopen_shim_slow
	.type	miopen_shim_slow, @function
miopen_shim_slow:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$SHIM_FRAME_SIZE, %rsp
	save_arguments
	movl	%r11d, %edi
	leaq	SHIM_FRAME_CALL(%rsp), %rsi
	call	miopen_shim_enter
	movq	%rax, %r11
	cmpl	$0, SHIM_FRAME_CALL+SHIM_CALL_TIMED(%rsp)
	jne	.Ltimed
	restore_arguments
	.cfi_remember_state
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmp	*%r11

/* The call returns here. The function gets a copy of exactly its own arguments on the stack; the
 * frame is found through rbp, which no function takes an argument in. */
.Ltimed:
	.cfi_restore_state
	movl	SHIM_FRAME_CALL+SHIM_CALL_WORDS(%rsp), %ecx
	leaq	1(%rcx), %rax
	andq	$-2, %rax
	shlq	$3, %rax
	subq	%rax, %rsp
	testq	%rcx, %rcx
	jz	2f
1:	movq	8(%rbp,%rcx,8), %rax
	movq	%rax, -8(%rsp,%rcx,8)
	decq	%rcx
	jnz	1b
2:	restore_arguments
	call	*%r11
	movq	%rax, SHIM_FRAME_INTEGERS+0-SHIM_FRAME_SIZE(%rbp)
	movq	%rdx, SHIM_FRAME_INTEGERS+8-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm0, SHIM_FRAME_VECTORS+0-SHIM_FRAME_SIZE(%rbp)
	movaps	%xmm1, SHIM_FRAME_VECTORS+16-SHIM_FRAME_SIZE(%rbp)
	leaq	SHIM_FRAME_CALL-SHIM_FRAME_SIZE(%rbp), %rdi
	call	miopen_shim_leave
	movq	SHIM_FRAME_INTEGERS+0-SHIM_FRAME_SIZE(%rbp), %rax
	movq	SHIM_FRAME_INTEGERS+8-SHIM_FRAME_SIZE(%rbp), %rdx
	movaps	SHIM_FRAME_VECTORS+0-SHIM_FRAME_SIZE(%rbp), %xmm0
	movaps	SHIM_FRAME_VECTORS+16-SHIM_FRAME_SIZE(%rbp), %xmm1
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	miopen_shim_slow, .-miopen_shim_slow

/* Stands in for a refused function whose result is nothing, or cannot tell an error. */
	.p2align 4
	.globl	miopen_shim_refuse_zero
	.hidden	miopen_shim_refuse_zero
	.type	miopen_shim_refuse_zero, @function
miopen_shim_refuse_zero:
	.cfi_startproc
	endbr64
	xorl	%eax, %eax
	xorl	%edx, %edx
	pxor	%xmm0, %xmm0
	pxor	%xmm1, %xmm1
	ret
	.cfi_endproc
	.size	miopen_shim_refuse_zero, .-miopen_shim_refuse_zero

/* In the file and not only in memory, so that its first value can be checked there. */
	.data
	.p2align 2
	.globl	miopen_shim_state
	.hidden	miopen_shim_state
	.type	miopen_shim_state, @object
miopen_shim_state:
	.long	SHIM_BOTH(SHIM_GATE_UNREAD)
	.size	miopen_shim_state, 4

/* NT_GNU_PROPERTY_TYPE_0 with GNU_PROPERTY_X86_FEATURE_1_AND = IBT | SHSTK. */
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000002, 4, 3, 0

	.section .note.GNU-stack, "", @progbits
