// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/code.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <ucontext.h>

/* Calling convention of emitted code on x86-64: rdi points to the function's own step. The function
 * preserves bp, and like any System V function it may change rdi and the other caller-saved
 * registers. It changes no other register and does not use the red zone below sp. */

static void push_reg(struct jp_code *code, const char *bytes, uint32_t count)
{
	jp_code_lower(code, bytes, count, 8);
}

static void pop_reg(struct jp_code *code, const char *bytes, uint32_t count)
{
	jp_code_lower(code, bytes, count, -8);
}

/* Emits `sub rsp, @by`, or `add rsp, -@by` if @by is negative. */
static void adjust_sp(struct jp_code *code, int32_t by)
{
	char bytes[7] = {0x48, (char)0x81, (char)(by < 0 ? 0xc4 : 0xec)};
	int32_t amount = by < 0 ? -by : by;

	memcpy(bytes + 3, &amount, sizeof(amount));
	jp_code_lower(code, bytes, sizeof(bytes), by);
}

/* Emits a jnz to offset @target, at most 126 bytes back. */
static void jump_back_to(struct jp_code *code, uint32_t target)
{
	char bytes[2] = {0x75, (char)(target - (code->emitted->size + 2))};

	jp_code_insn(code, bytes, sizeof(bytes));
}

/* Emits a loop whose iteration count is at rdi + @field. An iteration takes about five cycles, most
 * of them in the multiplication, so that a timer can hit each of its instructions. */
static void emit_loop(struct jp_code *code, size_t field)
{
	char load[4] = {0x48, (char)0x8b, 0x4f, (char)field}; /* mov rcx, [rdi + field] */
	uint32_t top;

	jp_code_insn(code, load, sizeof(load));
	top = code->emitted->size;
	JP_INSN(code, "\x48\x8d\x44\x08\x07"); /* lea rax, [rax + rcx + 7] */
	JP_INSN(code, "\x48\x6b\xc0\x21");     /* imul rax, rax, 33 */
	JP_INSN(code, "\x48\x31\xc8");         /* xor rax, rcx */
	JP_INSN(code, "\x48\xff\xc9");         /* dec rcx */
	jump_back_to(code, top);
}

/* Emits the load of the function's word. @bytes: opcode for rbp or rax; put_word() fills in the
 * distance. */
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

/* Emits the body of a step: `repeat` times the loop `before` and a call of the next step, then the
 * loop `after`. The remaining repetitions are at [rsp], and the step at [rsp + 8]. */
static void emit_body(struct jp_code *code)
{
	char skip[2] = {0x74};
	uint32_t top, at;
	uint8_t distance;

	JP_INSN(code, "\x48\x8b\x47\x18");     /* mov rax, [rdi + repeat] */
	JP_INSN(code, "\x48\x89\x04\x24");     /* mov [rsp], rax */
	JP_INSN(code, "\x48\x89\x7c\x24\x08"); /* mov [rsp + 8], rdi */
	top = code->emitted->size;
	emit_loop(code, offsetof(struct jp_path_step, before));
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
	jump_back_to(code, top);
	emit_loop(code, offsetof(struct jp_path_step, after));
}

_Static_assert(sizeof(struct jp_path_step) == 32 && offsetof(struct jp_path_step, code) == 0 &&
		       offsetof(struct jp_path_step, repeat) == 24,
	       "emit_body() and jump_to_next() contain these offsets");

static void push_bp(struct jp_code *code)
{
	push_reg(code, "\x55", 1);
}

static void mov_bp_sp(struct jp_code *code)
{
	JP_INSN(code, "\x48\x89\xe5");
	code->now.bp = JP_BP_OWN;
}

/* Records that at the next instruction the frame has been removed and bp is the caller's. */
static void reset_frame(struct jp_code *code)
{
	code->now = (struct jp_truth_insn){.bp = JP_BP_CALLER};
}

static void emit_leave(struct jp_code *code)
{
	JP_INSN(code, "\xc9");
	reset_frame(code);
}

static void mov_sp_bp(struct jp_code *code)
{
	JP_INSN(code, "\x48\x89\xec");
	code->now = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = 8};
}

static void pop_bp(struct jp_code *code)
{
	pop_reg(code, "\x5d", 1);
	code->now.bp = JP_BP_CALLER;
}

static void emit_ret(struct jp_code *code)
{
	JP_INSN(code, "\xc3");
}

/* Emits the prologue of a frame with a frame pointer and @locals bytes of locals. */
static void emit_prologue(struct jp_code *code, int32_t locals)
{
	push_bp(code);
	mov_bp_sp(code);
	adjust_sp(code, locals);
}

static void emit_fp(struct jp_code *code)
{
	emit_prologue(code, 32);
	emit_body(code);
	emit_leave(code);
	emit_ret(code);
}

static void emit_leaf(struct jp_code *code)
{
	emit_loop(code, offsetof(struct jp_path_step, before));
	emit_loop(code, offsetof(struct jp_path_step, after));
	emit_ret(code);
}

static void emit_no_fp(struct jp_code *code)
{
	adjust_sp(code, 56);
	emit_body(code);
	adjust_sp(code, -56);
	emit_ret(code);
}

/* Emits further instructions between those of the prologue and those of the epilogue, as compilers
 * do. */
static void emit_long(struct jp_code *code)
{
	JP_INSN(code, "\x48\x8d\x84\x24\x00\xff\xff\xff"); /* lea rax, [rsp - 256]: a stack check */
	JP_INSN(code, "\x48\x85\xc0");                     /* test rax, rax */
	JP_INSN(code, "\x48\x8b\x0f");                     /* mov rcx, [rdi] */
	push_bp(code);
	JP_INSN(code, "\x48\x8b\x47\x08"); /* mov rax, [rdi + 8] */
	JP_INSN(code, "\x48\x01\xc8");     /* add rax, rcx */
	mov_bp_sp(code);
	push_reg(code, "\x53", 1);     /* push rbx */
	push_reg(code, "\x41\x54", 2); /* push r12 */
	push_reg(code, "\x41\x55", 2); /* push r13 */
	push_reg(code, "\x41\x56", 2); /* push r14 */
	adjust_sp(code, 48);
	emit_body(code);
	adjust_sp(code, -48);
	pop_reg(code, "\x41\x5e", 2);
	pop_reg(code, "\x41\x5d", 2);
	JP_INSN(code, "\x48\x01\xc8"); /* add rax, rcx */
	pop_reg(code, "\x41\x5c", 2);
	pop_reg(code, "\x5b", 1);
	pop_bp(code);
	JP_INSN(code, "\x48\x31\xc8");     /* xor rax, rcx */
	JP_INSN(code, "\x0f\x1f\x40\x00"); /* nop */
	emit_ret(code);
}

static void emit_large(struct jp_code *code)
{
	emit_prologue(code, 3072);
	emit_body(code);
	mov_sp_bp(code);
	pop_bp(code);
	emit_ret(code);
}

static void emit_realign(struct jp_code *code)
{
	push_bp(code);
	mov_bp_sp(code);
	JP_INSN(code, "\x48\x83\xe4\xc0"); /* and rsp, -64 */
	code->now.align = 6;
	adjust_sp(code, 192);
	emit_body(code);
	mov_sp_bp(code);
	pop_bp(code);
	emit_ret(code);
}

/* Emits code that writes to each page of the locals, as compilers do to detect a stack overflow. */
static void touch_pages(struct jp_code *code)
{
	uint32_t top;

	JP_INSN(code, "\xb9\x20\x00\x00\x00"); /* mov ecx, 32 */
	top = code->emitted->size;
	JP_INSN(code, "\x89\xc8");             /* mov eax, ecx */
	JP_INSN(code, "\xc1\xe0\x0c");         /* shl eax, 12 */
	JP_INSN(code, "\xc6\x44\x04\xff\x00"); /* mov byte [rsp + rax - 1], 0 */
	JP_INSN(code, "\x48\xff\xc9");         /* dec rcx */
	jump_back_to(code, top);
}

static void emit_hollow(struct jp_code *code)
{
	emit_prologue(code, 128 << 10);
	emit_body(code);
	emit_leave(code);
	emit_ret(code);
}

static void emit_huge(struct jp_code *code)
{
	emit_prologue(code, 128 << 10);
	touch_pages(code);
	emit_body(code);
	emit_leave(code);
	emit_ret(code);
}

static void emit_other_bp(struct jp_code *code)
{
	push_bp(code);
	adjust_sp(code, 48);
	load_word(code, "\x48\x8b\x2d"); /* mov rbp, [word] */
	code->now.bp = JP_BP_OTHER;
	emit_body(code);
	adjust_sp(code, -48);
	pop_bp(code);
	emit_ret(code);
	put_word(code);
}

static void jump_to_next(struct jp_code *code)
{
	JP_INSN(code, "\x48\x83\xc7\x20"); /* add rdi, 32 */
	code->now.bp |= JP_INSN_TAIL;
	JP_INSN(code, "\xff\x27"); /* jmp [rdi] */
	code->now.bp &= ~JP_INSN_TAIL;
}

static void emit_tail(struct jp_code *code)
{
	struct jp_truth_insn within;

	emit_prologue(code, 32);
	emit_loop(code, offsetof(struct jp_path_step, before));
	JP_INSN(code, "\x48\x83\x7f\x20\x00"); /* cmp qword [rdi + 32], 0 */
	JP_INSN(code, "\x74\x07");             /* je: past the jump */
	within = code->now;
	emit_leave(code);
	jump_to_next(code);
	code->now = within;
	emit_loop(code, offsetof(struct jp_path_step, after));
	emit_leave(code);
	emit_ret(code);
}

static void emit_stub(struct jp_code *code)
{
	JP_INSN(code, "\xf3\x0f\x1e\xfa"); /* endbr64 */
	jump_to_next(code);
}

/* The return address is at [rsp + 56], but call frame information places it at [rsp + 16]. */
static void emit_misled(struct jp_code *code)
{
	adjust_sp(code, 56);
	load_word(code, "\x48\x8b\x05");       /* mov rax, [word] */
	JP_INSN(code, "\x48\x89\x44\x24\x10"); /* mov [rsp + 16], rax */
	code->now.bp |= JP_INSN_MISLED;
	emit_body(code);
	adjust_sp(code, -56);
	code->now.bp &= ~JP_INSN_MISLED;
	emit_ret(code);
	put_word(code);
}

/* Emits the beginning of a function that makes `before` calls: a frame of @locals bytes that keeps
 * rdi at [rsp + 16] and the number of remaining calls at [rsp + 24]. Returns the offset of the
 * loop. */
static uint32_t begin_calls(struct jp_code *code, int32_t locals)
{
	emit_prologue(code, locals);
	JP_INSN(code, "\x48\x89\x7c\x24\x10"); /* mov [rsp + 16], rdi */
	JP_INSN(code, "\x48\x8b\x4f\x08");     /* mov rcx, [rdi + before] */
	JP_INSN(code, "\x48\x89\x4c\x24\x18"); /* mov [rsp + 24], rcx */
	return code->emitted->size;
}

static void end_calls(struct jp_code *code, uint32_t top)
{
	JP_INSN(code, "\x48\xff\x4c\x24\x18"); /* dec qword [rsp + 24] */
	jump_back_to(code, top);
	emit_loop(code, offsetof(struct jp_path_step, after));
	emit_leave(code);
	emit_ret(code);
}

/* Emits `before` calls of getrandom() for 1 KiB. Each call takes microseconds in the kernel. */
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

/* Emits `before` calls of clock_gettime(CLOCK_MONOTONIC, rsp + 64). The function's word is the
 * address of clock_gettime(). */
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

/* The kernel's perf_callchain_user() of arch/x86 checks only that @fp is a user address. It allows
 * chains that lead downwards. */
int jp_arch_accepts_frame(uint64_t fp, uint64_t from)
{
	const uint64_t user_end = (UINT64_C(1) << 47) - 4096;

	return fp <= user_end - 2 * sizeof(fp);
}

void jp_arch_read_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp)
{
	const greg_t *regs = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;

	*ip = regs[REG_RIP];
	*sp = regs[REG_RSP];
}

void jp_arch_clear_fp(void *ucontext)
{
	((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RBP] = 0;
}

int jp_arch_read_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return -errno;
	*ip = regs.rip;
	*sp = regs.rsp;
	*bp = regs.rbp;
	return 0;
}

/* The return label is hidden and has no type, so that symbolizers do not take it for a function.
 * The second push of %rdi only aligns the stack. */
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
