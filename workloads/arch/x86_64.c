// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emitter.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/*
 * x86-64, System V. rdi: the function's own step, given back unchanged; rax and rcx are free; no
 * other register changes, and nothing below sp is used.
 */

/* One function being written, and the frame as the next instruction will find it. */
struct code {
	unsigned char *out; /* NULL: measure */
	size_t room;
	struct jp_emitted *emitted;
	struct jp_truth_insn now;
};

/* Appends one instruction; whoever calls changes code->now after it. */
static void insn(struct code *code, const char *bytes, uint32_t count)
{
	struct jp_emitted *emitted = code->emitted;

	code->now.offset = emitted->size;
	emitted->insns[emitted->nr_insns++] = code->now;
	if (code->out && emitted->size + count <= code->room)
		memcpy(code->out + emitted->size, bytes, count);
	emitted->size += count;
}

#define INSN(code, bytes) insn(code, bytes, sizeof(bytes) - 1)

/* Moves the stack pointer down by @by bytes (up when negative), in the layout. */
static void lower(struct code *code, int32_t by)
{
	if (code->now.align)
		code->now.post += by;
	else
		code->now.pre += by;
}

static void push(struct code *code, const char *bytes, uint32_t count)
{
	insn(code, bytes, count);
	lower(code, 8);
}

static void pop(struct code *code, const char *bytes, uint32_t count)
{
	insn(code, bytes, count);
	lower(code, -8);
}

/* sub rsp, imm32; add for a negative @by. */
static void adjust(struct code *code, int32_t by)
{
	char bytes[7] = {0x48, (char)0x81, (char)(by < 0 ? 0xc4 : 0xec)};
	int32_t amount = by < 0 ? -by : by;

	memcpy(bytes + 3, &amount, sizeof(amount));
	insn(code, bytes, sizeof(bytes));
	lower(code, by);
}

/* jnz back to @target, which lies at most 126 bytes before. */
static void loop_to(struct code *code, uint32_t target)
{
	char bytes[2] = {0x75, (char)(target - (code->emitted->size + 2))};

	insn(code, bytes, sizeof(bytes));
}

/* Turns of a loop: the count is at rdi + @field. A turn takes about five cycles, most of them in
 * the multiplication, so that a timer may find any of its instructions. */
static void turns(struct code *code, size_t field)
{
	char load[4] = {0x48, (char)0x8b, 0x4f, (char)field}; /* mov rcx, [rdi + field] */
	uint32_t top;

	insn(code, load, sizeof(load));
	top = code->emitted->size;
	INSN(code, "\x48\x8d\x44\x08\x07"); /* lea rax, [rax + rcx + 7] */
	INSN(code, "\x48\x6b\xc0\x21");     /* imul rax, rax, 33 */
	INSN(code, "\x48\x31\xc8");         /* xor rax, rcx */
	INSN(code, "\x48\xff\xc9");         /* dec rcx */
	loop_to(code, top);
}

/* `repeat` times the loop `before` and the call of the next step; then the loop `after`. The count
 * of repetitions is kept at [rsp]: the shape has room there. */
static void body(struct code *code)
{
	char skip[2] = {0x74};
	uint32_t top, at;

	INSN(code, "\x48\x8b\x47\x18"); /* mov rax, [rdi + repeat] */
	INSN(code, "\x48\x89\x04\x24"); /* mov [rsp], rax */
	top = code->emitted->size;
	turns(code, offsetof(struct jp_path_step, before));
	INSN(code, "\x48\x83\x7f\x20\x00"); /* cmp qword [rdi + 32], 0: the next step's code */
	at = code->emitted->size;
	insn(code, skip, sizeof(skip)); /* je: the path ends here */
	INSN(code, "\x48\x83\xc7\x20"); /* add rdi, 32 */
	INSN(code, "\xff\x17");         /* call [rdi] */
	code->now.bp |= JP_INSN_RETURN;
	INSN(code, "\x48\x83\xef\x20"); /* sub rdi, 32 */
	code->now.bp &= ~JP_INSN_RETURN;
	if (code->out && at + 2 <= code->room)
		code->out[at + 1] = code->emitted->size - (at + 2);
	INSN(code, "\x48\xff\x0c\x24"); /* dec qword [rsp] */
	loop_to(code, top);
	turns(code, offsetof(struct jp_path_step, after));
}

_Static_assert(sizeof(struct jp_path_step) == 32 && offsetof(struct jp_path_step, code) == 0 &&
		       offsetof(struct jp_path_step, repeat) == 24,
	       "the code above");

static void push_bp(struct code *code)
{
	push(code, "\x55", 1);
}

static void mov_bp_sp(struct code *code)
{
	INSN(code, "\x48\x89\xe5");
	code->now.bp = JP_BP_OWN;
}

/* The frame is gone and bp is the caller's again. */
static void back_at_entry(struct code *code)
{
	code->now = (struct jp_truth_insn){.bp = JP_BP_CALLER};
}

static void leave(struct code *code)
{
	INSN(code, "\xc9");
	back_at_entry(code);
}

static void mov_sp_bp(struct code *code)
{
	INSN(code, "\x48\x89\xec");
	code->now = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = 8};
}

static void pop_bp(struct code *code)
{
	pop(code, "\x5d", 1);
	code->now.bp = JP_BP_CALLER;
}

static void ret(struct code *code)
{
	INSN(code, "\xc3");
}

static void emit_fp(struct code *code)
{
	push_bp(code);
	mov_bp_sp(code);
	adjust(code, 32);
	body(code);
	leave(code);
	ret(code);
}

static void emit_leaf(struct code *code)
{
	turns(code, offsetof(struct jp_path_step, before));
	turns(code, offsetof(struct jp_path_step, after));
	ret(code);
}

static void emit_no_fp(struct code *code)
{
	adjust(code, 56);
	body(code);
	adjust(code, -56);
	ret(code);
}

/* Instructions wherever a compiler might put some around the frame's. */
static void emit_long(struct code *code)
{
	INSN(code, "\x48\x8d\x84\x24\x00\xff\xff\xff"); /* lea rax, [rsp - 256]: a stack check */
	INSN(code, "\x48\x85\xc0");                     /* test rax, rax */
	INSN(code, "\x48\x8b\x0f");                     /* mov rcx, [rdi] */
	push_bp(code);
	INSN(code, "\x48\x8b\x47\x08"); /* mov rax, [rdi + 8] */
	INSN(code, "\x48\x01\xc8");     /* add rax, rcx */
	mov_bp_sp(code);
	push(code, "\x53", 1);     /* push rbx */
	push(code, "\x41\x54", 2); /* push r12 */
	push(code, "\x41\x55", 2); /* push r13 */
	push(code, "\x41\x56", 2); /* push r14 */
	adjust(code, 48);
	body(code);
	adjust(code, -48);
	pop(code, "\x41\x5e", 2);
	pop(code, "\x41\x5d", 2);
	INSN(code, "\x48\x01\xc8"); /* add rax, rcx */
	pop(code, "\x41\x5c", 2);
	pop(code, "\x5b", 1);
	pop_bp(code);
	INSN(code, "\x48\x31\xc8");     /* xor rax, rcx */
	INSN(code, "\x0f\x1f\x40\x00"); /* nop */
	ret(code);
}

static void emit_large(struct code *code)
{
	push_bp(code);
	mov_bp_sp(code);
	adjust(code, 3072);
	body(code);
	mov_sp_bp(code);
	pop_bp(code);
	ret(code);
}

static void emit_realign(struct code *code)
{
	push_bp(code);
	mov_bp_sp(code);
	INSN(code, "\x48\x83\xe4\xc0"); /* and rsp, -64 */
	code->now.align = 6;
	adjust(code, 192);
	body(code);
	mov_sp_bp(code);
	pop_bp(code);
	ret(code);
}

int jp_arch_emit(enum jp_shape shape, unsigned char *out, size_t room, struct jp_emitted *emitted)
{
	static void (*const emit[JP_SHAPES])(struct code *) = {
		[JP_SHAPE_FP] = emit_fp,       [JP_SHAPE_LEAF] = emit_leaf,
		[JP_SHAPE_NO_FP] = emit_no_fp, [JP_SHAPE_LONG] = emit_long,
		[JP_SHAPE_LARGE] = emit_large, [JP_SHAPE_REALIGN] = emit_realign,
	};
	struct code code = {.out = out, .room = room, .emitted = emitted};

	emitted->size = 0;
	emitted->nr_insns = 0;
	emit[shape](&code);
	return out && emitted->size > room ? -ENOSPC : 0;
}

const struct jp_arch_elf jp_arch_elf = {
	.machine = EM_X86_64, .sp = 7, .bp = 6, .return_address = 16};

/*
 * The return label is hidden and has no type: a symbolizer must not take it for a function. The
 * frame holds @steps twice, for alignment.
 */
asm(".pushsection .text\n"
    ".globl jp_arch_enter\n"
    ".globl jp_arch_enter_return\n"
    ".hidden jp_arch_enter_return\n"
    ".type jp_arch_enter, @function\n"
    "jp_arch_enter:\n"
    "	.cfi_startproc\n"
    "	push %rbp\n"
    "	.cfi_def_cfa_offset 16\n"
    "	.cfi_offset %rbp, -16\n"
    "	mov %rsp, %rbp\n"
    "	.cfi_def_cfa_register %rbp\n"
    "	push %rdi\n"
    "	push %rdi\n"
    "	mov %rsi, %rax\n"
    "	mov %rdx, %rdi\n"
    "	lea -8(%rsp), %rsi\n"
    "	mov %rbp, %rdx\n"
    "	call *%rax\n"
    "	mov (%rsp), %rdi\n"
    "	call *(%rdi)\n"
    "jp_arch_enter_return:\n"
    "	leave\n"
    "	.cfi_def_cfa %rsp, 8\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size jp_arch_enter, . - jp_arch_enter\n"
    ".popsection\n");
