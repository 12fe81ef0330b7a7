// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/code.h"

#include <asm/perf_regs.h>
#include <ucontext.h>

/* The functions of code.h are in assembly, because facts depend on the order of their
 * instructions. */
__asm__(JP_CODE_MACROS);

__asm__(".macro save\n"
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
	"	end \\name\n"
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
	"	end middle_plain\n"

	"	begin leaf\n"
	"	save\n"
	"	label leaf_pushed\n"
	"	addi s0, sp, 16\n"
	"	label leaf_body\n"
	"	nop\n"
	"	leave\n"
	"	label leaf_ret\n"
	"	ret\n"
	"	end leaf\n"

	"	begin plain\n"
	"	li a0, 0\n"
	"	label plain_body\n"
	"	nop\n"
	"	ret\n"
	"	end plain\n"
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
	"	save\n"
	"	la s0, jp_code_frame\n"
	"	ld s0, 0(s0)\n"
	"	label odd_body\n"
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
	"	frame\n"
	"	beqz a0, 1f\n"
	"	addi a0, a0, -1\n"
	"	jal jp_code_deep\n"
	"	leave\n"
	"	ret\n"
	"1:\n"
	"	label deep_body\n"
	"	nop\n"
	"	return_from deep\n"
	".option pop\n"
	".popsection\n");

/* The programs of code.h. System call 93 is exit, 214 is brk. */
__asm__(".pushsection .text\n"
	"	label brk\n"
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
	"	label exit\n"
	"	li a7, 93\n"
	"	li a0, 0\n"
	"	ecall\n"
	"	end exit\n"
	"	end brk\n"
	".popsection\n");

const struct jp_code_registers jp_code_registers = {
	.ip = PERF_REG_RISCV_PC, .middle = PERF_REG_RISCV_T1, .name = "t1"};

uint64_t jp_code_interrupted(const void *ucontext)
{
	return ((const ucontext_t *)ucontext)->uc_mcontext.__gregs[REG_PC];
}
