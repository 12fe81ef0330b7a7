/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What x86-64 and i386 emit alike. The file of the architecture defines these bytes first:
 * WIDE       before an instruction with operands of a register's size
 * LOAD_COUNT mov rcx, [rdi + ...] or mov ecx, [edx + ...], without its last byte
 * DEC_COUNT  dec rcx or dec ecx
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <ucontext.h>

#include "workloads/emit/arch_code.h"

#define PUSH(code, bytes) jp_code_lower(code, bytes, sizeof(bytes) - 1, (int32_t)sizeof(void *))
#define POP(code, bytes)  jp_code_lower(code, bytes, sizeof(bytes) - 1, -(int32_t)sizeof(void *))

/* Emits `sub rsp, @by`, or `add rsp, -@by` if @by is negative. */
void jp_arch_adjust_sp(struct jp_code *code, int32_t by)
{
	char bytes[] = WIDE "\x81\xec\0\0\0";
	int32_t amount = by < 0 ? -by : by;

	if (by < 0)
		bytes[sizeof(WIDE)] = (char)0xc4;
	memcpy(bytes + sizeof(WIDE) + 1, &amount, sizeof(amount));
	jp_code_lower(code, bytes, sizeof(bytes), by);
}

/* Emits `and rsp, -64`. */
void jp_arch_align_sp(struct jp_code *code)
{
	JP_INSN(code, WIDE "\x83\xe4\xc0");
}

/* Emits a jnz to offset @target, at most 126 bytes back. */
static void jump_back_to(struct jp_code *code, uint32_t target)
{
	char bytes[2] = {0x75, (char)(target - (code->emitted->size + 2))};

	jp_code_insn(code, bytes, sizeof(bytes));
}

void jp_arch_emit_loop(struct jp_code *code, size_t field)
{
	char load[] = LOAD_COUNT; /* with @field in the place of the final 0 */
	uint32_t top;

	load[sizeof(load) - 1] = (char)field;
	jp_code_insn(code, load, sizeof(load));
	top = code->emitted->size;
	JP_INSN(code, WIDE "\x8d\x44\x08\x07"); /* lea rax, [rax + rcx + 7] */
	JP_INSN(code, WIDE "\x6b\xc0\x21");     /* imul rax, rax, 33 */
	JP_INSN(code, WIDE "\x31\xc8");         /* xor rax, rcx */
	JP_INSN(code, DEC_COUNT);
	jump_back_to(code, top);
}

void jp_arch_end_branch(struct jp_code *code, uint32_t at)
{
	const uint8_t distance = code->emitted->size - at;

	jp_code_patch(code, at - 1, &distance, 1);
}

void jp_arch_repeat(struct jp_code *code, uint32_t at, uint32_t top)
{
	if (at) {
		char insn[] = WIDE "\xff\x4c\x24"; /* dec qword [rsp + at] */

		insn[sizeof(insn) - 1] = (char)at;
		jp_code_insn(code, insn, sizeof(insn));
	} else {
		JP_INSN(code, WIDE "\xff\x0c\x24"); /* dec qword [rsp] */
	}
	jump_back_to(code, top);
}

_Static_assert(sizeof(struct jp_path_step) == 32 && offsetof(struct jp_path_step, code) == 0 &&
		       offsetof(struct jp_path_step, repeat) == 24,
	       "the instructions contain these offsets");

void jp_arch_save_fp(struct jp_code *code)
{
	PUSH(code, "\x55");
}

void jp_arch_set_fp(struct jp_code *code)
{
	JP_INSN(code, WIDE "\x89\xe5");
	code->now.bp = JP_BP_OWN;
}

void jp_arch_leave(struct jp_code *code)
{
	JP_INSN(code, "\xc9");
	code->now = (struct jp_truth_insn){.bp = JP_BP_CALLER};
}

void jp_arch_reset_sp(struct jp_code *code)
{
	JP_INSN(code, WIDE "\x89\xec");
	code->now = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = sizeof(void *)};
}

void jp_arch_restore_fp(struct jp_code *code)
{
	POP(code, "\x5d");
	code->now.bp = JP_BP_CALLER;
}

void jp_arch_emit_ret(struct jp_code *code)
{
	JP_INSN(code, "\xc3");
}

void jp_arch_touch_pages(struct jp_code *code)
{
	uint32_t top;

	JP_INSN(code, "\xb9\x20\x00\x00\x00"); /* mov ecx, 32 */
	top = code->emitted->size;
	JP_INSN(code, "\x89\xc8");             /* mov eax, ecx */
	JP_INSN(code, "\xc1\xe0\x0c");         /* shl eax, 12 */
	JP_INSN(code, "\xc6\x44\x04\xff\x00"); /* mov byte [rsp + rax - 1], 0 */
	JP_INSN(code, DEC_COUNT);
	jump_back_to(code, top);
}

void jp_arch_emit_landing_pad(struct jp_code *code)
{
}

void jp_arch_push_return(struct jp_code *code)
{
}

void jp_arch_pop_return(struct jp_code *code)
{
}
