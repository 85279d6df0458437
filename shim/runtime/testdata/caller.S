/* void call_with(void *function, const struct arguments *a, struct results *r), of record.h. */
	.text
	.globl	call_with
	.type	call_with, @function
call_with:
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	subq	$264, %rsp
	.cfi_adjust_cfa_offset 264
	movq	%rdi, target(%rip)
	movq	%rdx, results(%rip)
	movq	%rsp, stack(%rip)
	movl	$32, %ecx
1:	movq	232(%rsi,%rcx,8), %rax
	movq	%rax, -8(%rsp,%rcx,8)
	decl	%ecx
	jnz	1b
	movups	112(%rsi), %xmm0
	movups	128(%rsi), %xmm1
	movups	144(%rsi), %xmm2
	movups	160(%rsi), %xmm3
	movups	176(%rsi), %xmm4
	movups	192(%rsi), %xmm5
	movups	208(%rsi), %xmm6
	movups	224(%rsi), %xmm7
	movq	%rsi, %r11
	movq	0(%r11), %rax
	movq	8(%r11), %rdi
	movq	16(%r11), %rsi
	movq	24(%r11), %rdx
	movq	32(%r11), %rcx
	movq	40(%r11), %r8
	movq	48(%r11), %r9
	movq	56(%r11), %r10
	movq	64(%r11), %rbx
	movq	72(%r11), %rbp
	movq	80(%r11), %r12
	movq	88(%r11), %r13
	movq	96(%r11), %r14
	movq	104(%r11), %r15
	call	*target(%rip)
	movq	results(%rip), %r11
	movq	%rax, 0(%r11)
	movq	%rdx, 8(%r11)
	movq	%xmm0, 16(%r11)
	movq	%rbx, 24(%r11)
	movq	%rbp, 32(%r11)
	movq	%r12, 40(%r11)
	movq	%r13, 48(%r11)
	movq	%r14, 56(%r11)
	movq	%r15, 64(%r11)
	cmpq	%rsp, stack(%rip)
	je	2f
	ud2
2:	addq	$264, %rsp
	.cfi_adjust_cfa_offset -264
	popq	%r15
	.cfi_adjust_cfa_offset -8
	popq	%r14
	.cfi_adjust_cfa_offset -8
	popq	%r13
	.cfi_adjust_cfa_offset -8
	popq	%r12
	.cfi_adjust_cfa_offset -8
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	call_with, .-call_with

	.bss
	.balign 8
target:
	.zero	8
results:
	.zero	8
stack:
	.zero	8

	.section .note.GNU-stack, "", @progbits
