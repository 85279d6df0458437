/* The common part of a library whose functions record what they were given and change everything
 * that a function may change. The generated functions put their number into callee_index and jump
 * here. record.h declares the record. */
	.bss
	.balign 64
	.globl	callee_record
	.type	callee_record, @object
	.size	callee_record, 536
callee_record:
	.zero	536
	.globl	callee_index
	.hidden	callee_index
callee_index:
	.zero	8

	.text
	.globl	callee
	.hidden	callee
callee:
	movq	%r11, %xmm15
	leaq	callee_record(%rip), %r11
	movq	%rax, 0(%r11)
	movq	%rdi, 8(%r11)
	movq	%rsi, 16(%r11)
	movq	%rdx, 24(%r11)
	movq	%rcx, 32(%r11)
	movq	%r8, 40(%r11)
	movq	%r9, 48(%r11)
	movq	%r10, 56(%r11)
	movq	%rbx, 64(%r11)
	movq	%rbp, 72(%r11)
	movq	%r12, 80(%r11)
	movq	%r13, 88(%r11)
	movq	%r14, 96(%r11)
	movq	%r15, 104(%r11)
	movups	%xmm0, 112(%r11)
	movups	%xmm1, 128(%r11)
	movups	%xmm2, 144(%r11)
	movups	%xmm3, 160(%r11)
	movups	%xmm4, 176(%r11)
	movups	%xmm5, 192(%r11)
	movups	%xmm6, 208(%r11)
	movups	%xmm7, 224(%r11)
	movl	$32, %ecx
1:	movq	(%rsp,%rcx,8), %rax
	movq	%rax, 232(%r11,%rcx,8)
	decl	%ecx
	jnz	1b
	movq	callee_index(%rip), %rax
	movq	%rax, 496(%r11)
	movq	%rsp, %rcx
	andl	$15, %ecx
	movq	%rcx, 504(%r11)
	incq	512(%r11)
	/* The results, different for each function. */
	movabsq	$0x5200000000000000, %rdx
	addq	%rax, %rdx
	movq	%rdx, %xmm0
	movabsq	$0x5100000000000000, %rdx
	addq	%rax, %rdx
	movabsq	$0x5000000000000000, %rcx
	addq	%rcx, %rax
	/* And everything else that the caller must not rely on. */
	movq	$-1, %rcx
	movq	%rcx, %rdi
	movq	%rcx, %rsi
	movq	%rcx, %r8
	movq	%rcx, %r9
	movq	%rcx, %r10
	movq	%rcx, %r11
	pcmpeqd	%xmm2, %xmm2
	pcmpeqd	%xmm3, %xmm3
	pcmpeqd	%xmm4, %xmm4
	pcmpeqd	%xmm5, %xmm5
	pcmpeqd	%xmm6, %xmm6
	pcmpeqd	%xmm7, %xmm7
	ret

	.section .note.GNU-stack, "", @progbits
