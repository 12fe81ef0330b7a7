// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/code.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <ucontext.h>

/*
 * x86-64, System V. rdi: the function's own step; it may come back as anything, as may whatever a
 * called function need not keep; bp comes back as it was, no other register changes, and nothing
 * below sp is used.
 */

static void push(struct jp_code *code, const char *bytes, uint32_t count)
{
	jp_code_lower(code, bytes, count, 8);
}

static void pop(struct jp_code *code, const char *bytes, uint32_t count)
{
	jp_code_lower(code, bytes, count, -8);
}

/* sub rsp, imm32; add for a negative @by. */
static void adjust(struct jp_code *code, int32_t by)
{
	char bytes[7] = {0x48, (char)0x81, (char)(by < 0 ? 0xc4 : 0xec)};
	int32_t amount = by < 0 ? -by : by;

	memcpy(bytes + 3, &amount, sizeof(amount));
	jp_code_lower(code, bytes, sizeof(bytes), by);
}

/* jnz back to @target, which lies at most 126 bytes before. */
static void loop_to(struct jp_code *code, uint32_t target)
{
	char bytes[2] = {0x75, (char)(target - (code->emitted->size + 2))};

	jp_code_insn(code, bytes, sizeof(bytes));
}

/* Turns of a loop: the count is at rdi + @field. A turn takes about five cycles, most of them in
 * the multiplication, so that a timer may find any of its instructions. */
static void turns(struct jp_code *code, size_t field)
{
	char load[4] = {0x48, (char)0x8b, 0x4f, (char)field}; /* mov rcx, [rdi + field] */
	uint32_t top;

	jp_code_insn(code, load, sizeof(load));
	top = code->emitted->size;
	JP_INSN(code, "\x48\x8d\x44\x08\x07"); /* lea rax, [rax + rcx + 7] */
	JP_INSN(code, "\x48\x6b\xc0\x21");     /* imul rax, rax, 33 */
	JP_INSN(code, "\x48\x31\xc8");         /* xor rax, rcx */
	JP_INSN(code, "\x48\xff\xc9");         /* dec rcx */
	loop_to(code, top);
}

/* Loads the function's word into rbp or rax. */
static void load_word(struct jp_code *code, const char bytes[3])
{
	char load[7] = {bytes[0], bytes[1], bytes[2]};

	jp_code_insn(code, load, sizeof(load));
	code->loads_word = code->emitted->size;
}

static void put_word(struct jp_code *code)
{
	int32_t distance = jp_code_word(code, 0xcc);

	jp_code_patch(code, code->loads_word - 4, &distance, sizeof(distance));
}

/* `repeat` times the loop `before` and the call of the next step; then the loop `after`. The count
 * of repetitions is kept at [rsp], the step above it: the shape has room there. */
static void body(struct jp_code *code)
{
	char skip[2] = {0x74};
	uint32_t top, at;
	uint8_t distance;

	JP_INSN(code, "\x48\x8b\x47\x18");     /* mov rax, [rdi + repeat] */
	JP_INSN(code, "\x48\x89\x04\x24");     /* mov [rsp], rax */
	JP_INSN(code, "\x48\x89\x7c\x24\x08"); /* mov [rsp + 8], rdi */
	top = code->emitted->size;
	turns(code, offsetof(struct jp_path_step, before));
	JP_INSN(code, "\x48\x83\x7f\x20\x00"); /* cmp qword [rdi + 32], 0: the next step's code */
	at = code->emitted->size;
	jp_code_insn(code, skip, sizeof(skip)); /* je: the path ends here */
	JP_INSN(code, "\x48\x83\xc7\x20");      /* add rdi, 32 */
	JP_INSN(code, "\xff\x17");              /* call [rdi] */
	code->now.bp |= JP_INSN_RETURN;
	JP_INSN(code, "\x48\x8b\x7c\x24\x08"); /* mov rdi, [rsp + 8] */
	code->now.bp &= ~JP_INSN_RETURN;
	distance = code->emitted->size - (at + 2);
	jp_code_patch(code, at + 1, &distance, 1);
	JP_INSN(code, "\x48\xff\x0c\x24"); /* dec qword [rsp] */
	loop_to(code, top);
	turns(code, offsetof(struct jp_path_step, after));
}

_Static_assert(sizeof(struct jp_path_step) == 32 && offsetof(struct jp_path_step, code) == 0 &&
		       offsetof(struct jp_path_step, repeat) == 24,
	       "the code above");

static void push_bp(struct jp_code *code)
{
	push(code, "\x55", 1);
}

static void mov_bp_sp(struct jp_code *code)
{
	JP_INSN(code, "\x48\x89\xe5");
	code->now.bp = JP_BP_OWN;
}

/* The frame is gone and bp is the caller's again. */
static void back_at_entry(struct jp_code *code)
{
	code->now = (struct jp_truth_insn){.bp = JP_BP_CALLER};
}

static void leave(struct jp_code *code)
{
	JP_INSN(code, "\xc9");
	back_at_entry(code);
}

static void mov_sp_bp(struct jp_code *code)
{
	JP_INSN(code, "\x48\x89\xec");
	code->now = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = 8};
}

static void pop_bp(struct jp_code *code)
{
	pop(code, "\x5d", 1);
	code->now.bp = JP_BP_CALLER;
}

static void ret(struct jp_code *code)
{
	JP_INSN(code, "\xc3");
}

/* A frame with a frame pointer. */
static void set_up(struct jp_code *code, int32_t locals)
{
	push_bp(code);
	mov_bp_sp(code);
	adjust(code, locals);
}

static void emit_fp(struct jp_code *code)
{
	set_up(code, 32);
	body(code);
	leave(code);
	ret(code);
}

static void emit_leaf(struct jp_code *code)
{
	turns(code, offsetof(struct jp_path_step, before));
	turns(code, offsetof(struct jp_path_step, after));
	ret(code);
}

static void emit_no_fp(struct jp_code *code)
{
	adjust(code, 56);
	body(code);
	adjust(code, -56);
	ret(code);
}

/* Instructions wherever a compiler might put some around the frame's. */
static void emit_long(struct jp_code *code)
{
	JP_INSN(code, "\x48\x8d\x84\x24\x00\xff\xff\xff"); /* lea rax, [rsp - 256]: a stack check */
	JP_INSN(code, "\x48\x85\xc0");                     /* test rax, rax */
	JP_INSN(code, "\x48\x8b\x0f");                     /* mov rcx, [rdi] */
	push_bp(code);
	JP_INSN(code, "\x48\x8b\x47\x08"); /* mov rax, [rdi + 8] */
	JP_INSN(code, "\x48\x01\xc8");     /* add rax, rcx */
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
	JP_INSN(code, "\x48\x01\xc8"); /* add rax, rcx */
	pop(code, "\x41\x5c", 2);
	pop(code, "\x5b", 1);
	pop_bp(code);
	JP_INSN(code, "\x48\x31\xc8");     /* xor rax, rcx */
	JP_INSN(code, "\x0f\x1f\x40\x00"); /* nop */
	ret(code);
}

static void emit_large(struct jp_code *code)
{
	set_up(code, 3072);
	body(code);
	mov_sp_bp(code);
	pop_bp(code);
	ret(code);
}

static void emit_realign(struct jp_code *code)
{
	push_bp(code);
	mov_bp_sp(code);
	JP_INSN(code, "\x48\x83\xe4\xc0"); /* and rsp, -64 */
	code->now.align = 6;
	adjust(code, 192);
	body(code);
	mov_sp_bp(code);
	pop_bp(code);
	ret(code);
}

/* As compilers do it for a stack that may have to grow: a word of each page. */
static void touch_pages(struct jp_code *code)
{
	uint32_t top;

	JP_INSN(code, "\xb9\x20\x00\x00\x00"); /* mov ecx, 32 */
	top = code->emitted->size;
	JP_INSN(code, "\x89\xc8");             /* mov eax, ecx */
	JP_INSN(code, "\xc1\xe0\x0c");         /* shl eax, 12 */
	JP_INSN(code, "\xc6\x44\x04\xff\x00"); /* mov byte [rsp + rax - 1], 0 */
	JP_INSN(code, "\x48\xff\xc9");         /* dec rcx */
	loop_to(code, top);
}

static void emit_hollow(struct jp_code *code)
{
	set_up(code, 128 << 10);
	body(code);
	leave(code);
	ret(code);
}

static void emit_huge(struct jp_code *code)
{
	set_up(code, 128 << 10);
	touch_pages(code);
	body(code);
	leave(code);
	ret(code);
}

static void emit_other_bp(struct jp_code *code)
{
	push_bp(code);
	adjust(code, 48);
	load_word(code, "\x48\x8b\x2d"); /* mov rbp, [word] */
	code->now.bp = JP_BP_OTHER;
	body(code);
	adjust(code, -48);
	pop_bp(code);
	ret(code);
	put_word(code);
}

/* add rdi, 32; jmp [rdi] */
static void jump_on(struct jp_code *code)
{
	JP_INSN(code, "\x48\x83\xc7\x20");
	code->now.bp |= JP_INSN_TAIL;
	JP_INSN(code, "\xff\x27");
	code->now.bp &= ~JP_INSN_TAIL;
}

static void emit_tail(struct jp_code *code)
{
	struct jp_truth_insn within;

	set_up(code, 32);
	turns(code, offsetof(struct jp_path_step, before));
	JP_INSN(code, "\x48\x83\x7f\x20\x00"); /* cmp qword [rdi + 32], 0 */
	JP_INSN(code, "\x74\x07");             /* je: past the jump */
	within = code->now;
	leave(code);
	jump_on(code);
	code->now = within;
	turns(code, offsetof(struct jp_path_step, after));
	leave(code);
	ret(code);
}

static void emit_stub(struct jp_code *code)
{
	JP_INSN(code, "\xf3\x0f\x1e\xfa"); /* endbr64 */
	jump_on(code);
}

/* The return address is at [rsp + 56]; by its call frame information, at [rsp + 16]. */
static void emit_misled(struct jp_code *code)
{
	adjust(code, 56);
	load_word(code, "\x48\x8b\x05");       /* mov rax, [word] */
	JP_INSN(code, "\x48\x89\x44\x24\x10"); /* mov [rsp + 16], rax */
	code->now.bp |= JP_INSN_MISLED;
	body(code);
	adjust(code, -56);
	code->now.bp &= ~JP_INSN_MISLED;
	ret(code);
	put_word(code);
}

/* A frame of @locals bytes, in which `before` calls are made from where it returns on: it keeps rdi
 * at [rsp + 16], the calls that are left at [rsp + 24]. */
static uint32_t begin_calls(struct jp_code *code, int32_t locals)
{
	set_up(code, locals);
	JP_INSN(code, "\x48\x89\x7c\x24\x10"); /* mov [rsp + 16], rdi */
	JP_INSN(code, "\x48\x8b\x4f\x08");     /* mov rcx, [rdi + before] */
	JP_INSN(code, "\x48\x89\x4c\x24\x18"); /* mov [rsp + 24], rcx */
	return code->emitted->size;
}

static void end_calls(struct jp_code *code, uint32_t top)
{
	JP_INSN(code, "\x48\xff\x4c\x24\x18"); /* dec qword [rsp + 24] */
	loop_to(code, top);
	turns(code, offsetof(struct jp_path_step, after));
	leave(code);
	ret(code);
}

/* getrandom() of 1 KiB, `before` times: microseconds in the kernel each. */
static void emit_syscall(struct jp_code *code)
{
	uint32_t top = begin_calls(code, 1104);

	JP_INSN(code, "\x48\x8d\x7c\x24\x40"); /* lea rdi, [rsp + 64] */
	JP_INSN(code, "\xbe\x00\x04\x00\x00"); /* mov esi, 1024 */
	JP_INSN(code, "\x31\xd2");             /* xor edx, edx */
	JP_INSN(code, "\xb8\x3e\x01\x00\x00"); /* mov eax, 318 */
	JP_INSN(code, "\x0f\x05");             /* syscall */
	JP_INSN(code, "\x48\x8b\x7c\x24\x10"); /* mov rdi, [rsp + 16] */
	end_calls(code, top);
}

/* `before` times clock_gettime(CLOCK_MONOTONIC, rsp + 64), at the address that is its word. */
static void emit_clock(struct jp_code *code)
{
	uint32_t top = begin_calls(code, 80);

	JP_INSN(code, "\x48\x8d\x74\x24\x40"); /* lea rsi, [rsp + 64] */
	JP_INSN(code, "\xbf\x01\x00\x00\x00"); /* mov edi, 1 */
	load_word(code, "\x48\x8b\x05");       /* mov rax, [word] */
	JP_INSN(code, "\xff\xd0");             /* call rax */
	code->now.bp |= JP_INSN_RETURN;
	JP_INSN(code, "\x48\x8b\x7c\x24\x10"); /* mov rdi, [rsp + 16] */
	code->now.bp &= ~JP_INSN_RETURN;
	end_calls(code, top);
	put_word(code);
}

void (*const jp_arch_shapes[JP_SHAPES])(struct jp_code *code) = {
	[JP_SHAPE_FP] = emit_fp,         [JP_SHAPE_LEAF] = emit_leaf,
	[JP_SHAPE_NO_FP] = emit_no_fp,   [JP_SHAPE_LONG] = emit_long,
	[JP_SHAPE_LARGE] = emit_large,   [JP_SHAPE_REALIGN] = emit_realign,
	[JP_SHAPE_CLOCK] = emit_clock,   [JP_SHAPE_HUGE] = emit_huge,
	[JP_SHAPE_HOLLOW] = emit_hollow, [JP_SHAPE_OTHER_BP] = emit_other_bp,
	[JP_SHAPE_TAIL] = emit_tail,     [JP_SHAPE_STUB] = emit_stub,
	[JP_SHAPE_MISLED] = emit_misled, [JP_SHAPE_SYSCALL] = emit_syscall,
};

const struct jp_arch_elf jp_arch_elf = {
	.machine = EM_X86_64, .sp = 7, .bp = 6, .return_address = 16, .pushed = 8};

/* perf_callchain_user() of arch/x86 asks for a user address, and for no direction. */
int jp_arch_follows(uint64_t fp, uint64_t from)
{
	const uint64_t user_end = (UINT64_C(1) << 47) - 4096;

	return fp <= user_end - 2 * sizeof(fp);
}

void jp_arch_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp)
{
	const greg_t *regs = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;

	*ip = regs[REG_RIP];
	*sp = regs[REG_RSP];
}

void jp_arch_outermost(void *ucontext)
{
	((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RBP] = 0;
}

int jp_arch_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return -errno;
	*ip = regs.rip;
	*sp = regs.rsp;
	*bp = regs.rbp;
	return 0;
}

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
    "	test %rcx, %rcx\n"
    "	cmovnz %rcx, %rsp\n"
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
    ".globl jp_arch_call_out\n"
    ".type jp_arch_call_out, @function\n"
    "jp_arch_call_out:\n"
    "	.cfi_startproc\n"
    "	push %rbp\n"
    "	.cfi_def_cfa_offset 16\n"
    "	.cfi_offset %rbp, -16\n"
    "	mov %rsp, %rbp\n"
    "	.cfi_def_cfa_register %rbp\n"
    "	call *8(%rdi)\n"
    "	leave\n"
    "	.cfi_def_cfa %rsp, 8\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size jp_arch_call_out, . - jp_arch_call_out\n"
    ".popsection\n");
