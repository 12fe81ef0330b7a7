// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/code.h"

#include <asm/perf_regs.h>
#include <ucontext.h>

/* The functions of code.h are in assembly, because facts depend on the order of their
 * instructions. */
__asm__(".macro begin name\n"
	".balign 16\n"
	".globl jp_code_\\name, jp_code_\\name\\()_end\n"
	"jp_code_\\name:\n"
	".endm\n"
	".macro save\n"
	"	addi sp, sp, -16\n"
	"	sd ra, 8(sp)\n"
	"	sd s0, 0(sp)\n"
	".endm\n"
	".macro frame\n"
	"	save\n"
	"	addi s0, sp, 16\n"
	".endm\n"
	".macro leave\n"
	"	ld ra, 8(sp)\n"
	"	ld s0, 0(sp)\n"
	"	addi sp, sp, 16\n"
	".endm\n"
	".macro return_from name\n"
	"	leave\n"
	"	ret\n"
	"jp_code_\\name\\()_end:\n"
	".endm\n"
	".pushsection .text\n"
	/* Use no compressed instructions: a breakpoint needs four bytes. */
	".option push\n"
	".option norvc\n"
	"	begin outer\n"
	"	frame\n"
	"	mv t1, a0\n"
	"	mv a0, a1\n"
	"	jalr t1\n"
	"	return_from outer\n"

	"	begin middle\n"
	"	frame\n"
	"	jalr a0\n"
	"	return_from middle\n"

	"	begin middle_plain\n"
	"	addi sp, sp, -16\n"
	"	sd ra, 8(sp)\n"
	"	jalr a0\n"
	"	ld ra, 8(sp)\n"
	"	addi sp, sp, 16\n"
	"	ret\n"
	"jp_code_middle_plain_end:\n"

	"	begin leaf\n"
	".globl jp_code_leaf_pushed, jp_code_leaf_body, jp_code_leaf_ret, jp_code_leaf_end\n"
	"	save\n"
	"jp_code_leaf_pushed:\n"
	"	addi s0, sp, 16\n"
	"jp_code_leaf_body:\n"
	"	nop\n"
	"	leave\n"
	"jp_code_leaf_ret:\n"
	"	ret\n"
	"jp_code_leaf_end:\n"

	"	begin plain\n"
	".globl jp_code_plain_body\n"
	"	li a0, 0\n"
	"jp_code_plain_body:\n"
	"	nop\n"
	"	ret\n"
	"jp_code_plain_end:\n"
	".option pop\n"
	".popsection\n");

/* Functions for facts about landing pads and nops: riscv64 has no landing pad before Zicfilp, and
 * only nops of four bytes. */
__asm__(".pushsection .text\n"
	".option push\n"
	".option norvc\n"
	"	begin endbr\n"
	"	frame\n"
	"	return_from endbr\n"

	"	begin nop5\n"
	"	nop\n"
	"	frame\n"
	"	return_from nop5\n"

	"	begin nop10\n"
	"	nop\n"
	"	nop\n"
	"	frame\n"
	"	return_from nop10\n"

	"	begin odd\n"
	".globl jp_code_odd_body\n"
	"	save\n"
	"	la s0, jp_code_frame\n"
	"	ld s0, 0(s0)\n"
	"jp_code_odd_body:\n"
	"	nop\n"
	"	return_from odd\n"

	"	begin on_stack\n"
	"	addi sp, sp, -32\n"
	"	sd ra, 24(sp)\n"
	"	sd s0, 16(sp)\n"
	"	sd s1, 8(sp)\n"
	"	mv s1, sp\n"
	"	mv sp, a0\n"
	"	jalr a1\n"
	"	mv sp, s1\n"
	"	ld s1, 8(sp)\n"
	"	ld s0, 16(sp)\n"
	"	ld ra, 24(sp)\n"
	"	addi sp, sp, 32\n"
	"	ret\n"

	/* Raises SIGTRAP by kill(getpid(), SIGTRAP), not by ebreak: the handler would return to the
	 * same ebreak. 172 is getpid, 129 is kill, 5 is SIGTRAP. */
	"	begin trap\n"
	"	frame\n"
	"	li a7, 172\n"
	"	ecall\n"
	"	li a1, 5\n"
	"	li a7, 129\n"
	"	ecall\n"
	"	return_from trap\n"

	"	begin deep\n"
	".globl jp_code_deep_body\n"
	"	frame\n"
	"	beqz a0, 1f\n"
	"	addi a0, a0, -1\n"
	"	jal jp_code_deep\n"
	"	leave\n"
	"	ret\n"
	"1:\n"
	"jp_code_deep_body:\n"
	"	nop\n"
	"	return_from deep\n"
	".option pop\n"
	".popsection\n");

/* The programs of code.h. System call 93 is exit, 214 is brk. */
__asm__(".pushsection .text\n"
	".globl jp_code_exit, jp_code_exit_end, jp_code_brk, jp_code_brk_end\n"
	"jp_code_brk:\n"
	"	li a0, 0\n"
	"	li a7, 214\n"
	"	ecall\n"
	"	li s1, 3\n"
	"	li t0, 4096\n"
	"1:\n"
	"	add a0, a0, t0\n"
	"	ecall\n"
	"	addi s1, s1, -1\n"
	"	bnez s1, 1b\n"
	"jp_code_exit:\n"
	"	li a7, 93\n"
	"	li a0, 0\n"
	"	ecall\n"
	"jp_code_exit_end:\n"
	"jp_code_brk_end:\n"
	".popsection\n");

const struct jp_code_registers jp_code_registers = {
	.ip = PERF_REG_RISCV_PC, .middle = PERF_REG_RISCV_T1, .name = "t1"};

uint64_t jp_code_interrupted(const void *ucontext)
{
	return ((const ucontext_t *)ucontext)->uc_mcontext.__gregs[REG_PC];
}
