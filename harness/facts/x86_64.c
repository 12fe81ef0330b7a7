// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/code.h"

#include <asm/perf_regs.h>
#include <ucontext.h>

/* The functions of code.h are in assembly, because facts depend on the order of their
 * instructions. */
__asm__(JP_CODE_MACROS);

__asm__(".macro frame\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	".endm\n"
	".macro return_from name\n"
	"	pop %rbp\n"
	"	ret\n"
	"	end \\name\n"
	".endm\n"
	".pushsection .text\n"
	"	begin outer\n"
	"	frame\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	return_from outer\n"

	"	begin middle\n"
	"	frame\n"
	"	call *%rdi\n"
	"	return_from middle\n"

	"	begin middle_plain\n"
	"	sub $8, %rsp\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"	end middle_plain\n"

	"	begin leaf\n"
	"	push %rbp\n"
	"	label leaf_pushed\n"
	"	mov %rsp, %rbp\n"
	"	label leaf_body\n"
	"	nop\n"
	"	pop %rbp\n"
	"	label leaf_ret\n"
	"	ret\n"
	"	end leaf\n"

	"	begin plain\n"
	"	xor %eax, %eax\n"
	"	label plain_body\n"
	"	nop\n"
	"	ret\n"
	"	end plain\n"
	".popsection\n");

__asm__(".pushsection .text\n"
	"	begin endbr\n"
	"	.byte 0xf3, 0x0f, 0x1e, 0xfa\n" /* endbr64 */
	"	frame\n"
	"	return_from endbr\n"

	"	begin nop5\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	frame\n"
	"	return_from nop5\n"

	"	begin nop10\n"
	"	.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00\n"
	"	frame\n"
	"	return_from nop10\n"

	"	begin odd\n"
	"	push %rbp\n"
	"	mov jp_code_frame(%rip), %rbp\n"
	"	label odd_body\n"
	"	nop\n"
	"	return_from odd\n"

	"	begin on_stack\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	mov %rdi, %rsp\n"
	"	call *%rsi\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"

	"	begin trap\n"
	"	frame\n"
	"	int3\n"
	"	return_from trap\n"

	"	begin deep\n"
	"	frame\n"
	"	test %rdi, %rdi\n"
	"	je 1f\n"
	"	dec %rdi\n"
	"	call jp_code_deep\n"
	"	pop %rbp\n"
	"	ret\n"
	"1:\n"
	"	label deep_body\n"
	"	nop\n"
	"	return_from deep\n"
	".popsection\n");

/* The programs of code.h. System call 60 is exit, 12 is brk. */
__asm__(".pushsection .text\n"
	"	label brk\n"
	"	xor %edi, %edi\n"
	"	mov $12, %eax\n"
	"	syscall\n"
	"	mov $3, %ebx\n"
	"1:\n"
	"	lea 4096(%rax), %rdi\n"
	"	mov $12, %eax\n"
	"	syscall\n"
	"	dec %ebx\n"
	"	jne 1b\n"
	"	label exit\n"
	"	mov $60, %eax\n"
	"	xor %edi, %edi\n"
	"	syscall\n"
	"	end exit\n"
	"	end brk\n"
	".popsection\n");

const struct jp_code_registers jp_code_registers = {
	.ip = PERF_REG_X86_IP, .middle = PERF_REG_X86_AX, .name = "ax"};

uint64_t jp_code_interrupted(const void *ucontext)
{
	return ((const ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP];
}
