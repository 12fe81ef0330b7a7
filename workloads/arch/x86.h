/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What x86-64 and i386 emit alike. The file of the architecture defines these bytes first:
 * WIDE       before an instruction with operands of a register's size
 * DEC_COUNT  dec rcx or dec ecx
 * ENDBR      endbr64 or endbr32
 * STEP       number of the register with the address of the step: rdi or edx
 * REG(name)  index of a register in the context of a signal, REG_RIP or REG_EIP for IP
 * USER(name) field of struct user_regs_struct, rip or eip for ip
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

enum { AX = 0, CX = 1, SP = 4, LOAD = 0x8b, STORE = 0x89, DEC = 0xff };

/* Emits an instruction on @reg and the memory @offset bytes above the address in @base. For DEC,
 * @reg is 1 and selects the operation. */
static void access_memory(struct jp_code *code, uint8_t opcode, uint8_t reg, uint8_t base,
			  uint32_t offset)
{
	unsigned char bytes[8] = WIDE;
	uint32_t size = sizeof(WIDE) - 1;

	bytes[size++] = opcode;
	bytes[size++] = (offset ? 0x40 : 0) | reg << 3 | base;
	if (base == SP)
		bytes[size++] = 0x24;
	if (offset)
		bytes[size++] = offset;
	jp_code_append_insn(code, bytes, size);
}

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

	jp_code_append_insn(code, bytes, sizeof(bytes));
}

void jp_arch_emit_loop(struct jp_code *code, size_t field)
{
	uint32_t top;

	access_memory(code, LOAD, CX, STEP, field);
	top = code->emitted->size;
	JP_INSN(code, WIDE "\x8d\x44\x08\x07"); /* lea rax, [rax + rcx + 7] */
	JP_INSN(code, WIDE "\x6b\xc0\x21");     /* imul rax, rax, 33 */
	JP_INSN(code, WIDE "\x31\xc8");         /* xor rax, rcx */
	JP_INSN(code, DEC_COUNT);
	jump_back_to(code, top);
}

/* Emits `mov [rsp + 16], rax` or `mov [esp + 8], eax`. The return address is at [rsp + 56]. */
void jp_arch_store_word(struct jp_code *code)
{
	access_memory(code, STORE, AX, SP, 2 * sizeof(void *));
}

void jp_arch_begin_body(struct jp_code *code)
{
	access_memory(code, LOAD, AX, STEP, offsetof(struct jp_path_step, repeat));
	access_memory(code, STORE, AX, SP, 0);
	access_memory(code, STORE, STEP, SP, sizeof(void *));
}

void jp_arch_begin_calls(struct jp_code *code)
{
	access_memory(code, STORE, STEP, SP, 16);
	access_memory(code, LOAD, CX, STEP, offsetof(struct jp_path_step, loops_before));
	access_memory(code, STORE, CX, SP, 24);
}

uint32_t jp_arch_branch_at_end(struct jp_code *code)
{
	char compare[] = WIDE "\x83\x78\x20"; /* cmp qword [... + 32], 0: the next step's code */

	compare[sizeof(WIDE)] |= STEP;
	jp_code_append_insn(code, compare, sizeof(compare));
	JP_INSN(code, "\x74\x00"); /* je */
	return code->emitted->size;
}

void jp_arch_end_branch(struct jp_code *code, uint32_t branch)
{
	const uint8_t distance = code->emitted->size - branch;

	jp_code_patch(code, branch - 1, &distance, 1);
}

void jp_arch_repeat(struct jp_code *code, uint32_t counter_offset, uint32_t top)
{
	access_memory(code, DEC, 1, SP, counter_offset);
	jump_back_to(code, top);
}

_Static_assert(sizeof(struct jp_path_step) == 32 && offsetof(struct jp_path_step, code) == 0 &&
		       offsetof(struct jp_path_step, repeat) == 24,
	       "the instructions contain these offsets");

/* Emits `add rdi, 32`, and an indirect jump or call to the code of that step. */
static void go_to_next(struct jp_code *code, uint8_t operation, uint8_t flag)
{
	char add[] = WIDE "\x83\xc0\x20";
	const uint8_t go[] = {0xff, operation | STEP};

	add[sizeof(WIDE)] |= STEP;
	jp_code_append_insn(code, add, sizeof(add) - 1);
	code->state.bp |= flag;
	jp_code_append_insn(code, go, sizeof(go));
	code->state.bp &= ~flag;
}

void jp_arch_call_next(struct jp_code *code)
{
	go_to_next(code, 0x10, 0);
	code->state.bp |= JP_INSN_RETURN;
	access_memory(code, LOAD, STEP, SP, sizeof(void *));
	code->state.bp &= ~JP_INSN_RETURN;
}

void jp_arch_jump_to_next(struct jp_code *code)
{
	go_to_next(code, 0x20, JP_INSN_TAIL);
}

void jp_arch_emit_stub(struct jp_code *code)
{
	JP_INSN(code, ENDBR);
	jp_arch_jump_to_next(code);
}

void jp_arch_save_fp(struct jp_code *code)
{
	PUSH(code, "\x55");
}

void jp_arch_set_fp(struct jp_code *code)
{
	JP_INSN(code, WIDE "\x89\xe5");
	code->state.bp = JP_BP_OWN;
}

void jp_arch_leave(struct jp_code *code)
{
	JP_INSN(code, "\xc9");
	code->state = (struct jp_truth_insn){.bp = JP_BP_CALLER};
}

void jp_arch_reset_sp(struct jp_code *code)
{
	JP_INSN(code, WIDE "\x89\xec");
	code->state = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = sizeof(void *)};
}

void jp_arch_restore_fp(struct jp_code *code)
{
	POP(code, "\x5d");
	code->state.bp = JP_BP_CALLER;
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

void jp_arch_read_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp)
{
	const greg_t *regs = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;

	*ip = (uintptr_t)regs[REG(IP)];
	*sp = (uintptr_t)regs[REG(SP)];
}

void jp_arch_clear_fp(void *ucontext)
{
	((ucontext_t *)ucontext)->uc_mcontext.gregs[REG(BP)] = 0;
}

int jp_arch_read_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return -errno;
	*ip = (uintptr_t)regs.USER(ip);
	*sp = (uintptr_t)regs.USER(sp);
	*bp = (uintptr_t)regs.USER(bp);
	return 0;
}
