// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/code.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <ucontext.h>

/* Calling convention of emitted code on i386: edx points to the function's own step, whose fields
 * have 64 bits, but values that fit into 32 bits. The function preserves bp, and like any System V
 * function it may change eax, ecx and edx. It changes no other register. */

static void push_reg(struct jp_code *code, const char *bytes)
{
	jp_code_lower(code, bytes, 1, 4);
}

static void pop_reg(struct jp_code *code, const char *bytes)
{
	jp_code_lower(code, bytes, 1, -4);
}

/* Emits `sub esp, @by`, or `add esp, -@by` if @by is negative. */
static void adjust_sp(struct jp_code *code, int32_t by)
{
	char bytes[6] = {(char)0x81, (char)(by < 0 ? 0xc4 : 0xec)};
	int32_t amount = by < 0 ? -by : by;

	memcpy(bytes + 2, &amount, sizeof(amount));
	jp_code_lower(code, bytes, sizeof(bytes), by);
}

/* Emits a jnz to offset @target, at most 126 bytes back. */
static void jump_back_to(struct jp_code *code, uint32_t target)
{
	char bytes[2] = {0x75, (char)(target - (code->emitted->size + 2))};

	jp_code_insn(code, bytes, sizeof(bytes));
}

/* Emits a loop whose iteration count is at edx + @field. An iteration takes about five cycles, most
 * of them in the multiplication, so that a timer can hit each of its instructions. */
static void emit_loop(struct jp_code *code, size_t field)
{
	char load[3] = {(char)0x8b, 0x4a, (char)field}; /* mov ecx, [edx + field] */
	uint32_t top;

	jp_code_insn(code, load, sizeof(load));
	top = code->emitted->size;
	JP_INSN(code, "\x8d\x44\x08\x07"); /* lea eax, [eax + ecx + 7] */
	JP_INSN(code, "\x6b\xc0\x21");     /* imul eax, eax, 33 */
	JP_INSN(code, "\x31\xc8");         /* xor eax, ecx */
	JP_INSN(code, "\x49");             /* dec ecx */
	jump_back_to(code, top);
}

/* Emits the load of the function's word, relative to the code's own address, which a call pushes.
 * @bytes: opcode for ebp or eax; put_word() fills in the distance. */
static void load_word(struct jp_code *code, const char bytes[2])
{
	char load[6] = {bytes[0], bytes[1]};

	jp_code_lower(code, "\xe8\0\0\0\0", 5, 4); /* call the next instruction */
	pop_reg(code, "\x58");                     /* pop eax */
	jp_code_insn(code, load, sizeof(load));
	code->loads_word = code->emitted->size;
}

/* Appends the word and fills in its distance from the pop, 7 bytes before the end of the load. */
static void put_word(struct jp_code *code)
{
	int32_t distance = jp_code_word(code, 0xcc) + 7;

	jp_code_patch(code, code->loads_word - 4, &distance, sizeof(distance));
}

/* Emits the body of a step: `repeat` times the loop `before` and a call of the next step, then the
 * loop `after`. The remaining repetitions are at [esp], and the step at [esp + 4]. */
static void emit_body(struct jp_code *code)
{
	char skip[2] = {0x74};
	uint32_t top, at;
	uint8_t distance;

	JP_INSN(code, "\x8b\x42\x18");     /* mov eax, [edx + repeat] */
	JP_INSN(code, "\x89\x04\x24");     /* mov [esp], eax */
	JP_INSN(code, "\x89\x54\x24\x04"); /* mov [esp + 4], edx */
	top = code->emitted->size;
	emit_loop(code, offsetof(struct jp_path_step, before));
	JP_INSN(code, "\x83\x7a\x20\x00"); /* cmp dword [edx + 32], 0: the next step's code */
	at = code->emitted->size;
	jp_code_insn(code, skip, sizeof(skip)); /* je: the path ends here */
	JP_INSN(code, "\x83\xc2\x20");          /* add edx, 32 */
	JP_INSN(code, "\xff\x12");              /* call [edx] */
	code->now.bp |= JP_INSN_RETURN;
	JP_INSN(code, "\x8b\x54\x24\x04"); /* mov edx, [esp + 4] */
	code->now.bp &= ~JP_INSN_RETURN;
	distance = code->emitted->size - (at + 2);
	jp_code_patch(code, at + 1, &distance, 1);
	JP_INSN(code, "\xff\x0c\x24"); /* dec dword [esp] */
	jump_back_to(code, top);
	emit_loop(code, offsetof(struct jp_path_step, after));
}

_Static_assert(sizeof(struct jp_path_step) == 32 && offsetof(struct jp_path_step, code) == 0 &&
		       offsetof(struct jp_path_step, repeat) == 24,
	       "emit_body() and jump_to_next() contain these offsets");

static void push_bp(struct jp_code *code)
{
	push_reg(code, "\x55");
}

static void mov_bp_sp(struct jp_code *code)
{
	JP_INSN(code, "\x89\xe5");
	code->now.bp = JP_BP_OWN;
}

static void emit_leave(struct jp_code *code)
{
	JP_INSN(code, "\xc9");
	code->now = (struct jp_truth_insn){.bp = JP_BP_CALLER};
}

static void mov_sp_bp(struct jp_code *code)
{
	JP_INSN(code, "\x89\xec");
	code->now = (struct jp_truth_insn){.bp = JP_BP_OWN, .pre = 4};
}

static void pop_bp(struct jp_code *code)
{
	pop_reg(code, "\x5d");
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
	JP_INSN(code, "\x8d\x84\x24\x00\xff\xff\xff"); /* lea eax, [esp - 256]: a stack check */
	JP_INSN(code, "\x85\xc0");                     /* test eax, eax */
	JP_INSN(code, "\x8b\x0a");                     /* mov ecx, [edx] */
	push_bp(code);
	JP_INSN(code, "\x8b\x42\x08"); /* mov eax, [edx + 8] */
	JP_INSN(code, "\x01\xc8");     /* add eax, ecx */
	mov_bp_sp(code);
	push_reg(code, "\x53"); /* push ebx */
	push_reg(code, "\x56"); /* push esi */
	push_reg(code, "\x57"); /* push edi */
	adjust_sp(code, 48);
	emit_body(code);
	adjust_sp(code, -48);
	pop_reg(code, "\x5f");
	pop_reg(code, "\x5e");
	JP_INSN(code, "\x01\xc8"); /* add eax, ecx */
	pop_reg(code, "\x5b");
	pop_bp(code);
	JP_INSN(code, "\x31\xc8");         /* xor eax, ecx */
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
	JP_INSN(code, "\x83\xe4\xc0"); /* and esp, -64 */
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
	JP_INSN(code, "\xc6\x44\x04\xff\x00"); /* mov byte [esp + eax - 1], 0 */
	JP_INSN(code, "\x49");                 /* dec ecx */
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
	load_word(code, "\x8b\xa8"); /* mov ebp, [eax + distance] */
	code->now.bp = JP_BP_OTHER;
	emit_body(code);
	adjust_sp(code, -48);
	pop_bp(code);
	emit_ret(code);
	put_word(code);
}

static void jump_to_next(struct jp_code *code)
{
	JP_INSN(code, "\x83\xc2\x20"); /* add edx, 32 */
	code->now.bp |= JP_INSN_TAIL;
	JP_INSN(code, "\xff\x22"); /* jmp [edx] */
	code->now.bp &= ~JP_INSN_TAIL;
}

static void emit_tail(struct jp_code *code)
{
	struct jp_truth_insn within;

	emit_prologue(code, 32);
	emit_loop(code, offsetof(struct jp_path_step, before));
	JP_INSN(code, "\x83\x7a\x20\x00"); /* cmp dword [edx + 32], 0 */
	JP_INSN(code, "\x74\x06");         /* je: past the jump */
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
	JP_INSN(code, "\xf3\x0f\x1e\xfb"); /* endbr32 */
	jump_to_next(code);
}

/* The return address is at [esp + 56], but call frame information places it at [esp + 8]. */
static void emit_misled(struct jp_code *code)
{
	adjust_sp(code, 56);
	load_word(code, "\x8b\x80");       /* mov eax, [eax + distance] */
	JP_INSN(code, "\x89\x44\x24\x08"); /* mov [esp + 8], eax */
	code->now.bp |= JP_INSN_MISLED;
	emit_body(code);
	adjust_sp(code, -56);
	code->now.bp &= ~JP_INSN_MISLED;
	emit_ret(code);
	put_word(code);
}

/* Emits the beginning of a function that makes `before` calls: a frame of @locals bytes that keeps
 * edx at [esp + 16] and the number of remaining calls at [esp + 24]. Returns the offset of the
 * loop. */
static uint32_t begin_calls(struct jp_code *code, int32_t locals)
{
	emit_prologue(code, locals);
	JP_INSN(code, "\x89\x54\x24\x10"); /* mov [esp + 16], edx */
	JP_INSN(code, "\x8b\x4a\x08");     /* mov ecx, [edx + before] */
	JP_INSN(code, "\x89\x4c\x24\x18"); /* mov [esp + 24], ecx */
	return code->emitted->size;
}

static void end_calls(struct jp_code *code, uint32_t top)
{
	JP_INSN(code, "\xff\x4c\x24\x18"); /* dec dword [esp + 24] */
	jump_back_to(code, top);
	emit_loop(code, offsetof(struct jp_path_step, after));
	emit_leave(code);
	emit_ret(code);
}

/* Emits `before` calls of getrandom() for 1 KiB. Each call takes microseconds in the kernel. */
static void emit_syscall(struct jp_code *code)
{
	uint32_t top = begin_calls(code, 1104);

	JP_INSN(code, "\x89\x5c\x24\x1c");     /* mov [esp + 28], ebx */
	JP_INSN(code, "\x8d\x5c\x24\x40");     /* lea ebx, [esp + 64] */
	JP_INSN(code, "\xb9\x00\x04\x00\x00"); /* mov ecx, 1024 */
	JP_INSN(code, "\x31\xd2");             /* xor edx, edx */
	JP_INSN(code, "\xb8\x63\x01\x00\x00"); /* mov eax, 355 */
	JP_INSN(code, "\xcd\x80");             /* int 0x80 */
	JP_INSN(code, "\x8b\x5c\x24\x1c");     /* mov ebx, [esp + 28] */
	JP_INSN(code, "\x8b\x54\x24\x10");     /* mov edx, [esp + 16] */
	end_calls(code, top);
}

/* Emits `before` calls of clock_gettime(CLOCK_MONOTONIC, esp + 64). The function's word is the
 * address of clock_gettime(). */
static void emit_clock(struct jp_code *code)
{
	uint32_t top = begin_calls(code, 80);

	JP_INSN(code, "\x8d\x44\x24\x40");             /* lea eax, [esp + 64] */
	JP_INSN(code, "\x89\x44\x24\x04");             /* mov [esp + 4], eax */
	JP_INSN(code, "\xc7\x04\x24\x01\x00\x00\x00"); /* mov dword [esp], 1 */
	load_word(code, "\x8b\x80");                   /* mov eax, [eax + distance] */
	JP_INSN(code, "\xff\xd0");                     /* call eax */
	code->now.bp |= JP_INSN_RETURN;
	JP_INSN(code, "\x8b\x54\x24\x10"); /* mov edx, [esp + 16] */
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
	.machine = EM_386, .sp = 4, .bp = 5, .return_address = 8, .pushed = 4};

/* The kernel's perf_callchain_user32() of arch/x86 checks only that @fp is an address of user
 * space, which is true of each 32-bit address. */
int jp_arch_accepts_frame(uint64_t fp, uint64_t from)
{
	return 1;
}

void jp_arch_read_interrupted(const void *ucontext, uint64_t *ip, uint64_t *sp)
{
	const greg_t *regs = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;

	*ip = (uint32_t)regs[REG_EIP];
	*sp = (uint32_t)regs[REG_ESP];
}

void jp_arch_clear_fp(void *ucontext)
{
	((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_EBP] = 0;
}

int jp_arch_read_traced(int pid, uint64_t *ip, uint64_t *sp, uint64_t *bp)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return -errno;
	*ip = (uint32_t)regs.eip;
	*sp = (uint32_t)regs.esp;
	*bp = (uint32_t)regs.ebp;
	return 0;
}

/* The return label is hidden and has no type, so that symbolizers do not take it for a function.
 * announce() has a pointer and two numbers of 64 bits as arguments. */
asm(".pushsection .text\n"
    ".globl jp_arch_enter\n"
    ".globl jp_arch_enter_return\n"
    ".hidden jp_arch_enter_return\n"
    ".type jp_arch_enter, @function\n"
    "jp_arch_enter:\n"
    "	.cfi_startproc\n"
    "	push %ebp\n"
    "	.cfi_def_cfa_offset 8\n"
    "	.cfi_offset %ebp, -8\n"
    "	mov %esp, %ebp\n"
    "	.cfi_def_cfa_register %ebp\n"
    "	mov 20(%ebp), %eax\n"
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
    "	call *(%edx)\n"
    "jp_arch_enter_return:\n"
    "	leave\n"
    "	.cfi_def_cfa %esp, 4\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size jp_arch_enter, . - jp_arch_enter\n"
    ".globl jp_arch_call_out\n"
    ".type jp_arch_call_out, @function\n"
    "jp_arch_call_out:\n"
    "	.cfi_startproc\n"
    "	push %ebp\n"
    "	.cfi_def_cfa_offset 8\n"
    "	.cfi_offset %ebp, -8\n"
    "	mov %esp, %ebp\n"
    "	.cfi_def_cfa_register %ebp\n"
    "	and $-16, %esp\n"
    "	call *8(%edx)\n"
    "	leave\n"
    "	.cfi_def_cfa %esp, 4\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size jp_arch_call_out, . - jp_arch_call_out\n"
    ".popsection\n");
