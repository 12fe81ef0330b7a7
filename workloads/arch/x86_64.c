// SPDX-License-Identifier: GPL-2.0-only
/* Calling convention of emitted code on x86-64: rdi points to the function's own step. The function
 * preserves bp, and like any System V function it may change rdi and the other caller-saved
 * registers. It changes no other register and does not use the red zone below sp. */
#define WIDE       "\x48"
#define DEC_COUNT  WIDE "\xff\xc9"
#define ENDBR      "\xf3\x0f\x1e\xfa"
#define STEP       7
#define REG(name)  REG_R##name
#define USER(name) r##name
#include "workloads/arch/x86.h"

void jp_arch_load_word(struct jp_code *code, enum jp_word_use use)
{
	/* mov rbp or rax, [rip + ...] */
	const char load[7] = {0x48, (char)0x8b, use == JP_WORD_FP ? 0x2d : 0x05};

	jp_code_append_insn(code, load, sizeof(load));
	code->loads_word = code->emitted->size;
}

void jp_arch_put_word(struct jp_code *code, enum jp_word_use use)
{
	int32_t distance = jp_code_append_word(code, 0xcc);

	jp_code_patch(code, code->loads_word - 4, &distance, sizeof(distance));
}

void jp_arch_emit_long_prologue(struct jp_code *code)
{
	JP_INSN(code, "\x48\x8d\x84\x24\x00\xff\xff\xff"); /* lea rax, [rsp - 256]: a stack check */
	JP_INSN(code, "\x48\x85\xc0");                     /* test rax, rax */
	JP_INSN(code, "\x48\x8b\x0f");                     /* mov rcx, [rdi] */
	jp_arch_save_fp(code);
	JP_INSN(code, "\x48\x8b\x47\x08"); /* mov rax, [rdi + 8] */
	JP_INSN(code, "\x48\x01\xc8");     /* add rax, rcx */
	jp_arch_set_fp(code);
	PUSH(code, "\x53");     /* push rbx */
	PUSH(code, "\x41\x54"); /* push r12 */
	PUSH(code, "\x41\x55"); /* push r13 */
	PUSH(code, "\x41\x56"); /* push r14 */
	jp_arch_adjust_sp(code, 48);
}

void jp_arch_emit_long_epilogue(struct jp_code *code)
{
	jp_arch_adjust_sp(code, -48);
	POP(code, "\x41\x5e");
	POP(code, "\x41\x5d");
	JP_INSN(code, "\x48\x01\xc8"); /* add rax, rcx */
	POP(code, "\x41\x5c");
	POP(code, "\x5b");
	jp_arch_restore_fp(code);
	JP_INSN(code, "\x48\x31\xc8");     /* xor rax, rcx */
	JP_INSN(code, "\x0f\x1f\x40\x00"); /* nop */
	jp_arch_emit_ret(code);
}

void jp_arch_call_kernel(struct jp_code *code)
{
	JP_INSN(code, "\x48\x8d\x7c\x24\x40"); /* lea rdi, [rsp + 64] */
	JP_INSN(code, "\xbe\x00\x04\x00\x00"); /* mov esi, 1024 */
	JP_INSN(code, "\x31\xd2");             /* xor edx, edx */
	JP_INSN(code, "\xb8\x3e\x01\x00\x00"); /* mov eax, 318 */
	JP_INSN(code, "\x0f\x05");             /* syscall */
	JP_INSN(code, "\x48\x8b\x7c\x24\x10"); /* mov rdi, [rsp + 16] */
}

void jp_arch_call_clock(struct jp_code *code)
{
	JP_INSN(code, "\x48\x8d\x74\x24\x40"); /* lea rsi, [rsp + 64] */
	JP_INSN(code, "\xbf\x01\x00\x00\x00"); /* mov edi, 1 */
	jp_arch_load_word(code, JP_WORD_CALLED);
	JP_INSN(code, "\xff\xd0"); /* call rax */
	code->state.bp |= JP_INSN_RETURN;
	JP_INSN(code, "\x48\x8b\x7c\x24\x10"); /* mov rdi, [rsp + 16] */
	code->state.bp &= ~JP_INSN_RETURN;
}

const struct jp_arch_elf jp_arch_elf = {
	.machine = EM_X86_64, .sp = 7, .bp = 6, .return_address = 16, .pushed = 8};

/* The kernel's perf_callchain_user() of arch/x86 checks only that @fp is a user address. It allows
 * chains that lead downwards. */
int jp_arch_accepts_frame(uint64_t fp, uint64_t from)
{
	const uint64_t user_end = (UINT64_C(1) << 47) - 4096;

	return fp <= user_end - 2 * sizeof(fp);
}

/* The second push of %rdi only aligns the stack. */
asm(".macro begin_frame\n"
    "	push %rbp\n"
    "	.cfi_def_cfa_offset 16\n"
    "	.cfi_offset %rbp, -16\n"
    "	mov %rsp, %rbp\n"
    "	.cfi_def_cfa_register %rbp\n"
    ".endm\n"
    ".macro end_frame\n"
    "	leave\n"
    "	.cfi_def_cfa %rsp, 8\n"
    "	ret\n"
    ".endm\n"
    ".pushsection .text\n" JP_ASM_BEGIN(
	    "jp_arch_enter") "	test %rcx, %rcx\n"
			     "	cmovnz %rcx, %rsp\n"
			     "	push %rdi\n"
			     "	push %rdi\n"
			     "	mov %rsi, %rax\n"
			     "	mov %rdx, %rdi\n"
			     "	lea -8(%rsp), %rsi\n"
			     "	mov %rbp, %rdx\n"
			     "	call *%rax\n"
			     "	mov (%rsp), %rdi\n"
			     "	call *(%rdi)\n" JP_ASM_RETURN_LABEL JP_ASM_END("jp_arch_enter")
				     JP_ASM_BEGIN("jp_arch_call_out") "	call *8(%rdi)\n" JP_ASM_END(
					     "jp_arch_call_out") ".popsection\n");
