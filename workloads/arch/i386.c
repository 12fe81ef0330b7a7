// SPDX-License-Identifier: GPL-2.0-only
/* Calling convention of emitted code on i386: edx points to the function's own step, whose fields
 * have 64 bits, but values that fit into 32 bits. The function preserves bp, and like any System V
 * function it may change eax, ecx and edx. It changes no other register. */
#define WIDE       ""
#define DEC_COUNT  "\x49"
#define ENDBR      "\xf3\x0f\x1e\xfb"
#define STEP       2
#define REG(name)  REG_E##name
#define USER(name) e##name
#include "workloads/arch/x86.h"

/* Loads the word relative to the code's own address, which a call pushes. */
void jp_arch_load_word(struct jp_code *code, enum jp_word_use use)
{
	/* mov ebp or eax, [eax + ...] */
	const char load[6] = {(char)0x8b, (char)(use == JP_WORD_FP ? 0xa8 : 0x80)};

	jp_code_lower(code, "\xe8\0\0\0\0", 5, 4); /* call the next instruction */
	POP(code, "\x58");                         /* pop eax */
	jp_code_append_insn(code, load, sizeof(load));
	code->loads_word = code->emitted->size;
}

/* Appends the word and fills in its distance from the pop, 7 bytes before the end of the load. */
void jp_arch_put_word(struct jp_code *code, enum jp_word_use use)
{
	int32_t distance = jp_code_append_word(code, 0xcc) + 7;

	jp_code_patch(code, code->loads_word - 4, &distance, sizeof(distance));
}

void jp_arch_emit_long_prologue(struct jp_code *code)
{
	JP_INSN(code, "\x8d\x84\x24\x00\xff\xff\xff"); /* lea eax, [esp - 256]: a stack check */
	JP_INSN(code, "\x85\xc0");                     /* test eax, eax */
	JP_INSN(code, "\x8b\x0a");                     /* mov ecx, [edx] */
	jp_arch_save_fp(code);
	JP_INSN(code, "\x8b\x42\x08"); /* mov eax, [edx + 8] */
	JP_INSN(code, "\x01\xc8");     /* add eax, ecx */
	jp_arch_set_fp(code);
	PUSH(code, "\x53"); /* push ebx */
	PUSH(code, "\x56"); /* push esi */
	PUSH(code, "\x57"); /* push edi */
	jp_arch_adjust_sp(code, 48);
}

void jp_arch_emit_long_epilogue(struct jp_code *code)
{
	jp_arch_adjust_sp(code, -48);
	POP(code, "\x5f");
	POP(code, "\x5e");
	JP_INSN(code, "\x01\xc8"); /* add eax, ecx */
	POP(code, "\x5b");
	jp_arch_restore_fp(code);
	JP_INSN(code, "\x31\xc8");         /* xor eax, ecx */
	JP_INSN(code, "\x0f\x1f\x40\x00"); /* nop */
	jp_arch_emit_ret(code);
}

void jp_arch_call_kernel(struct jp_code *code)
{
	JP_INSN(code, "\x89\x5c\x24\x1c");     /* mov [esp + 28], ebx */
	JP_INSN(code, "\x8d\x5c\x24\x40");     /* lea ebx, [esp + 64] */
	JP_INSN(code, "\xb9\x00\x04\x00\x00"); /* mov ecx, 1024 */
	JP_INSN(code, "\x31\xd2");             /* xor edx, edx */
	JP_INSN(code, "\xb8\x63\x01\x00\x00"); /* mov eax, 355 */
	JP_INSN(code, "\xcd\x80");             /* int 0x80 */
	JP_INSN(code, "\x8b\x5c\x24\x1c");     /* mov ebx, [esp + 28] */
	JP_INSN(code, "\x8b\x54\x24\x10");     /* mov edx, [esp + 16] */
}

void jp_arch_call_clock(struct jp_code *code)
{
	JP_INSN(code, "\x8d\x44\x24\x40");             /* lea eax, [esp + 64] */
	JP_INSN(code, "\x89\x44\x24\x04");             /* mov [esp + 4], eax */
	JP_INSN(code, "\xc7\x04\x24\x01\x00\x00\x00"); /* mov dword [esp], 1 */
	jp_arch_load_word(code, JP_WORD_CALLED);
	JP_INSN(code, "\xff\xd0"); /* call eax */
	code->state.bp |= JP_INSN_RETURN;
	JP_INSN(code, "\x8b\x54\x24\x10"); /* mov edx, [esp + 16] */
	code->state.bp &= ~JP_INSN_RETURN;
}

const struct jp_arch_elf jp_arch_elf = {
	.machine = EM_386, .sp = 4, .bp = 5, .return_address = 8, .pushed = 4};

/* The kernel's perf_callchain_user32() of arch/x86 checks only that @fp is an address of user
 * space, which is true of each 32-bit address. */
int jp_arch_accepts_frame(uint64_t fp, uint64_t from)
{
	return 1;
}

/* announce() has a pointer and two numbers of 64 bits as arguments. */
asm(".macro begin_frame\n"
    "	push %ebp\n"
    "	.cfi_def_cfa_offset 8\n"
    "	.cfi_offset %ebp, -8\n"
    "	mov %esp, %ebp\n"
    "	.cfi_def_cfa_register %ebp\n"
    ".endm\n"
    ".macro end_frame\n"
    "	leave\n"
    "	.cfi_def_cfa %esp, 4\n"
    "	ret\n"
    ".endm\n"
    ".pushsection .text\n" JP_ASM_BEGIN(
	    "jp_arch_enter") "	mov 20(%ebp), %eax\n"
			     "	test %eax, %eax\n"
			     "	cmovnz %eax, %esp\n"
			     "	and $-16, %esp\n"
			     "	sub $32, %esp\n"
			     "	mov 16(%ebp), %eax\n"
			     "	mov %eax, (%esp)\n"
			     "	lea -4(%esp), %eax\n"
			     "	mov %eax, 4(%esp)\n"
			     "	movl $0, 8(%esp)\n"
			     "	mov %ebp, 12(%esp)\n"
			     "	movl $0, 16(%esp)\n"
			     "	call *12(%ebp)\n"
			     "	mov 8(%ebp), %edx\n"
			     "	call *(%edx)\n" JP_ASM_RETURN_LABEL JP_ASM_END("jp_arch_enter")
				     JP_ASM_BEGIN(
					     "jp_arch_call_out") "	and $-16, %esp\n"
								 "	call *8(%edx)\n" JP_ASM_END(
									 "jp_arch_call_out") ".pops"
											     "ectio"
											     "n\n");
