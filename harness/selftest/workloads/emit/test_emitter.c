// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks the oracle: a child runs paths with every shape in every position under PTRACE_SINGLESTEP.
 * At each instruction jp_truth_stack_at() must agree with two findings made without the layouts:
 *	- depth and return addresses, followed through call and ret while stepping;
 *	- the chain of the kernel's frame-pointer rule, walked in the child's memory from its rbp.
 */
#include <alloca.h>
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness/base/return_address.h"
#include "harness/format/truth/write.h"
#include "harness/model/oracle/oracle.h"
#include "harness/model/oracle/truth.h"
#include "harness/selftest/support/scratch.h"
#include "harness/selftest/support/stepped_child.h"
#include "workloads/emit/shapes.h"
#include "workloads/emit/path.h"

enum { MOST = 1024, DEEP = 300, NOT_TRACED = 77 };

/* Memory shared with the child. */
struct notes {
	uint64_t native[64]; /* backtrace() of the function that runs the paths */
	int nr_native;
};

struct following {
	pid_t child;
	const char *truth_path;
	struct jp_truth *truth;
	struct jp_truth_stack stack;
	uint64_t shadow[MOST]; /* return addresses, outermost first */
	uint32_t nr_shadow,
		base; /* @base: number of native functions before the first emitted one */
	uint64_t arena, arena_size;
	uint64_t starts[JP_SHAPES],
		first_words[JP_SHAPES]; /* start and first bytes of each function */
	unsigned long steps, activations, nr_found[JP_SHAPES];
	bool visited[JP_SHAPES][256]; /* instructions stepped on, by shape and offset */
	const struct notes *notes;
};

static struct jp_function functions[JP_SHAPES];

static void __attribute__((noinline))
run_shapes(const enum jp_shape *shapes, uint32_t depth, unsigned shift)
{
	const struct jp_function **list = calloc(depth, sizeof(*list));
	/* Vary the stack pointer modulo 64, so that a realigned frame rounds away different
	 * amounts. */
	volatile char *buf = alloca(16 * (1 + shift % 4));
	struct jp_path path;

	buf[0] = 0;
	for (uint32_t d = 0; d < depth; d++)
		list[d] = &functions[shapes[d]];
	if (jp_path_make(&path, list, depth, 1))
		_exit(3);
	/* Few iterations: only the frames matter. */
	for (uint32_t d = 0; d < depth; d++) {
		path.steps[d].loops_before = 1 + (d + shift) % 2;
		path.steps[d].loops_after = 1 + d % 2;
		path.steps[d].repeat = d < 2 && depth < 8 ? 1 + (d + shift) % 3 : 1;
	}
	jp_path_run(&path);
	jp_path_free(&path);
	free(list);
}

/* Start with the usual shapes. */
static const enum jp_shape framed[] = {
	JP_SHAPE_FP,      JP_SHAPE_NO_FP, JP_SHAPE_LONG,   JP_SHAPE_LARGE,
	JP_SHAPE_REALIGN, JP_SHAPE_HUGE,  JP_SHAPE_HOLLOW, JP_SHAPE_OTHER_BP,
	JP_SHAPE_MISLED,  JP_SHAPE_TAIL,  JP_SHAPE_STUB,
};
static const enum jp_shape ends[] = {
	JP_SHAPE_FP,      JP_SHAPE_LEAF,    JP_SHAPE_NO_FP, JP_SHAPE_LONG,     JP_SHAPE_LARGE,
	JP_SHAPE_REALIGN, JP_SHAPE_SYSCALL, JP_SHAPE_TAIL,  JP_SHAPE_OTHER_BP, JP_SHAPE_MISLED};
enum {
	FRAMED = sizeof(framed) / sizeof(framed[0]),
	ENDS = sizeof(ends) / sizeof(ends[0]),
	USUAL = 5,
};

enum {
	ONES = ENDS,
	TWOS = FRAMED * ENDS,
	THREES = USUAL * FRAMED * USUAL,
	JOBS = ONES + TWOS + THREES + FRAMED + 1,
};

/* noipa: neither inlined nor specialized for its callers */
#if __has_attribute(noipa)
#define APART __attribute__((noipa))
#else
#define APART __attribute__((noinline))
#endif

/* Stores the shapes of path @job. Returns its depth. */
static uint32_t APART choose_shapes(unsigned job, enum jp_shape *shapes)
{
	if (job < ONES) {
		shapes[0] = ends[job];
		return 1;
	}
	job -= ONES;
	if (job < TWOS) {
		shapes[0] = framed[job % FRAMED];
		shapes[1] = ends[job / FRAMED];
		return 2;
	}
	job -= TWOS;
	if (job < THREES) {
		shapes[0] = framed[job % USUAL];
		shapes[1] = framed[job / USUAL % FRAMED];
		shapes[2] = ends[job / (USUAL * FRAMED)];
		return 3;
	}
	job -= THREES;
	if (job < FRAMED) { /* recursion: the ip alone does not give the depth */
		for (unsigned d = 0; d < 12; d++)
			shapes[d] = d + 1 < 12 ? framed[job] : JP_SHAPE_FP;
		return 12;
	}
	for (unsigned d = 0; d < DEEP; d++)
		shapes[d] = framed[d * 7 % 11 % USUAL];
	shapes[DEEP - 1] = JP_SHAPE_LEAF;
	return DEEP;
}

static void APART run_all_paths(struct notes *notes)
{
	void *trace[64];

	notes->nr_native = backtrace(trace, 64);
	for (int i = 0; i < notes->nr_native; i++)
		notes->native[i] = (uintptr_t)trace[i];
	raise(SIGSTOP); /* the tracer steps from here on */
	/* One call site, so that all paths have the same native callers. */
	for (unsigned job = 0; job < JOBS; job++) {
		enum jp_shape shapes[DEEP];
		uint32_t depth = choose_shapes(job, shapes);

		run_shapes(shapes, depth, job);
	}
}

static void run_child(const char *truth_path, struct notes *notes, int out)
{
	struct jp_arena arena;
	struct jp_error err;
	uint64_t position[2 + JP_SHAPES];

	if (jp_truth_open(truth_path, 1 << 16, &err) ||
	    jp_arena_map(&arena, JP_PROTECT_RWX, 1 << 16, NULL)) {
		fprintf(stderr, "%s\n", err.text);
		_exit(2);
	}
	for (unsigned shape = 0; shape < JP_SHAPES; shape++) {
		if (jp_emit(&arena, shape, jp_shape_text(shape), &functions[shape]))
			_exit(2);
		position[2 + shape] = functions[shape].code;
	}
	position[0] = (uintptr_t)arena.exec;
	position[1] = arena.size;
	if (write(out, position, sizeof(position)) != sizeof(position))
		_exit(2);
	/* Run the unwinder once before stepping: its first run loads libraries. */
	run_shapes((enum jp_shape[]){JP_SHAPE_FP}, 1, 0);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(NOT_TRACED);
	run_all_paths(notes);
	_exit(0);
}

/* Walks like perf_callchain_user(); reads each page of the child once. */
static uint32_t walk_like_kernel(pid_t pid, const struct registers *regs, uint64_t *chain)
{
	uint64_t fp = regs->bp, page[512], page_number = UINT64_MAX, frame[2], from = 0;
	uint32_t count = 0;

	chain[count++] = regs->ip;
	while (count < MOST && jp_arch_accepts_frame(fp, from)) {
		const uint64_t record = fp - jp_arch_elf.fp_above;

		if (record % 8 || record % 4096 > 4096 - sizeof(frame)) {
			if (!read_words(pid, record, frame, 2))
				break;
		} else {
			if (page_number != record / 4096 &&
			    !read_words(pid, record & -4096, page, 512))
				break;
			page_number = record / 4096;
			memcpy(frame, &page[record % 4096 / 8], sizeof(frame));
		}
		chain[count++] = jp_return_address(frame[1], jp_arch_elf.signature);
		from = fp;
		fp = frame[0];
	}
	return count;
}

static bool report_difference(const struct following *following, const struct registers *regs,
			      const char *problem)
{
	printf("# step %lu: ip arena+%#" PRIx64 " sp %#" PRIx64 " bp %#" PRIx64
	       ", %u emitted frames: %s\n",
	       following->steps, regs->ip - following->arena, regs->sp, regs->bp,
	       following->nr_shadow - following->base, problem);
	return false;
}

/* Returns the shape in a name such as "fp_0123abcd", or JP_SHAPES. */
static enum jp_shape find_shape(const char *name)
{
	const char *end = strrchr(name, '_');
	size_t length = end ? (size_t)(end - name) : 0;
	enum jp_shape shape = 0;

	while (shape < JP_SHAPES &&
	       (strncmp(jp_shape_text(shape), name, length) || jp_shape_text(shape)[length]))
		shape++;
	return shape;
}

/* Compares all three findings before an instruction of emitted code. */
static bool check_step(struct following *following, const struct registers *regs)
{
	struct jp_truth_stack *stack = &following->stack;
	uint64_t now = jp_clock_now(), chain[MOST];
	uint32_t depth = following->nr_shadow - following->base - 1, count;
	const struct jp_truth_code *code;
	enum jp_stack_answer answer;
	enum jp_shape shape;

	code = jp_truth_code_at(following->truth, following->child, regs->ip, now);
	if (!code)
		return report_difference(following, regs, "no code known there");
	/* DUMP: all callers according to call and ret, then the native frames. */
	answer = jp_truth_stack_at(following->truth, following->child, following->child, now, 0,
				   regs->ip, regs->sp, JP_DUMP, stack);
	/* Functions that made a tail call are in the path, but not on the stack. */
	if (answer != JP_STACK_FOUND || stack->depth < depth ||
	    stack->activation->path->functions[stack->depth] != code ||
	    stack->nr_whole < depth + 2 || stack->frames[0] != regs->ip)
		return report_difference(following, regs, "not found, or at another depth");
	/* The shadow ends at run_all_paths(), whose callers backtrace() found before. */
	for (uint32_t i = 0; i < following->nr_shadow; i++) {
		if (stack->frames[1 + i] != following->shadow[following->nr_shadow - 1 - i])
			return report_difference(following, regs, "a wrong caller");
	}
	count = stack->nr_whole - 1 - following->nr_shadow;
	if ((int)count != following->notes->nr_native - 1 ||
	    memcmp(stack->frames + 1 + following->nr_shadow, following->notes->native + 1,
		   count * sizeof(uint64_t)))
		return report_difference(following, regs, "the native root is not backtrace()'s");
	/* CHAIN: the frames that the frame-pointer rule finds, to the end. */
	answer = jp_truth_stack_at(following->truth, following->child, following->child, now, 0,
				   regs->ip, regs->sp, JP_CHAIN, stack);
	count = walk_like_kernel(following->child, regs, chain);
	if (answer != JP_STACK_FOUND || stack->nr_seen != count ||
	    memcmp(stack->expected, chain, count * sizeof(*chain)))
		return report_difference(following, regs, "the kernel's rule finds another chain");
	shape = find_shape(code->name);
	if (shape == JP_SHAPES)
		return report_difference(following, regs, "a function of no shape");
	following->nr_found[shape]++;
	for (uint32_t i = 0; i < code->layout->count; i++)
		if (code->layout->insns[i].offset == stack->offset)
			following->visited[shape][i] = true;
	return true;
}

static bool is_in_arena(const struct following *following, uint64_t ip)
{
	return ip - following->arena < following->arena_size;
}

/* Reloads the truth after the child recorded an ENTER. */
static bool reload(struct following *following)
{
	struct jp_error err;

	jp_truth_free(following->truth);
	following->truth = jp_truth_load(following->truth_path, &err);
	if (!following->truth)
		printf("# %s\n", err.text);
	else if (following->truth->torn || following->truth->overflow)
		printf("# torn %llu\n", (unsigned long long)following->truth->torn);
	following->activations++;
	return following->truth && !following->truth->torn && !following->truth->overflow;
}

/* Replaces the first instruction of every function by a trap, or restores it. */
static bool set_traps(const struct following *following, bool traps)
{
	for (unsigned shape = 0; shape < JP_SHAPES; shape++) {
		uint64_t first_word = following->first_words[shape];
		uint64_t word = traps ? make_trap(first_word) : first_word;

		if (ptrace(PTRACE_POKETEXT, following->child, following->starts[shape], word))
			return false;
	}
	return true;
}

/* Runs the child for one instruction or, if @far, to the next function. Returns 1 if it stopped
 * there, 0 if it exited, -1 on error. */
static int advance_child(struct following *following, bool far, struct registers *regs)
{
	int status;

	if (far && !set_traps(following, true))
		return -1;
	if (ptrace(far ? PTRACE_CONT : PTRACE_SINGLESTEP, following->child, NULL, NULL) ||
	    waitpid(following->child, &status, 0) < 0)
		return -1;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? -1 : 0;
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
		printf("# the child stopped with status %#x\n", status);
		return -1;
	}
	if (!read_registers(following->child, regs))
		return -1;
	if (far && (!set_traps(following, false) || !leave_trap(following->child, regs)))
		return -1;
	return 1;
}

/* Follows a call, and sets *@after_call, or a return to where the last call came from. */
static bool follow_call(struct following *following, const struct registers *old_regs,
			const struct registers *regs, bool *after_call)
{
	const uint32_t count = following->nr_shadow;

	*after_call = is_call(following->child, old_regs, regs);
	if (*after_call)
		return count < MOST && read_return(following->child, regs,
						   &following->shadow[following->nr_shadow++]);
	if (count && regs->ip == following->shadow[count - 1] &&
	    is_return(following->child, old_regs, regs))
		following->nr_shadow--;
	return true;
}

/*
 * Steps the child to its end. The first path is followed from the C function that calls it; the
 * native callers of the others are the same, and the child runs freely from path to path.
 */
static bool follow_child(struct following *following)
{
	struct registers regs, old_regs;
	bool far = false;
	int nr_steps;

	if (!read_registers(following->child, &old_regs))
		return false;
	while ((nr_steps = advance_child(following, far, &regs)) > 0) {
		bool is_inside = is_in_arena(following, regs.ip), is_return = false;

		if (far) {
			uint64_t return_address;

			if (!is_inside || !read_return(following->child, &regs, &return_address))
				return false;
			following->nr_shadow = following->base;
			following->shadow[following->nr_shadow++] = return_address;
		} else if (!follow_call(following, &old_regs, &regs, &is_return)) {
			return false;
		}
		if (is_inside) {
			if (far || (!is_in_arena(following, old_regs.ip) && is_return)) {
				following->base = following->nr_shadow - 1;
				if (!reload(following))
					return false;
			}
			following->steps++;
			if (!check_step(following, &regs))
				return false;
		}
		far = !is_inside && (far || is_in_arena(following, old_regs.ip));
		old_regs = regs;
	}
	return nr_steps == 0;
}

/* Every instruction of every shape must have been stepped on. */
static void check_coverage(const struct following *following)
{
	for (unsigned shape = 0; shape < JP_SHAPES; shape++) {
		struct jp_emitted emitted;
		uint32_t missed = 0;

		/* It calls the vDSO, which the study frame-pointers covers with breakpoints. */
		if (shape == JP_SHAPE_CLOCK)
			continue;
		jp_shape_emit(shape, NULL, 0, &emitted);
		for (uint32_t i = 0; i < emitted.nr_insns; i++)
			missed += !following->visited[shape][i];
		check(!missed && emitted.nr_insns,
		      "%s: all %u instructions are stepped on, in %lu steps", jp_shape_text(shape),
		      emitted.nr_insns, following->nr_found[shape]);
	}
}

TEST(emitter)
{
	struct notes *notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct following following = {.notes = notes};
	uint64_t position[2 + JP_SHAPES];
	int out[2], status;
	bool passed;

#if defined(__riscv)
	printf("1..0 # SKIP the kernel has no single steps for riscv64\n");
	exit(0);
#endif
	if (notes == MAP_FAILED || pipe(out))
		exit(99);
	following.truth_path = scratch_make("truth");
	fflush(stdout);
	following.child = fork();
	if (!following.child)
		run_child(following.truth_path, notes, out[1]);
	passed = following.child > 0 &&
		 read(out[0], position, sizeof(position)) == sizeof(position) &&
		 waitpid(following.child, &status, 0) > 0;
	if (passed && WIFEXITED(status) && WEXITSTATUS(status) == NOT_TRACED) {
		printf("1..0 # SKIP ptrace is not permitted here\n");
		exit(0);
	}
	passed = passed && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP &&
		 !ptrace(PTRACE_SETOPTIONS, following.child, NULL, PTRACE_O_EXITKILL);
	check(passed, "the child stops before its paths");
	following.arena = position[0];
	following.arena_size = position[1];
	for (unsigned shape = 0; shape < JP_SHAPES && passed; shape++) {
		following.starts[shape] = position[2 + shape];
		passed = read_words(following.child, position[2 + shape],
				    &following.first_words[shape], 1);
	}
	passed = passed && follow_child(&following);
	printf("# %lu instructions in %lu activations\n", following.steps, following.activations);
	check(passed, "depth, callers and the kernel's chain are as predicted at each instruction");
	check(following.activations == JOBS, "every path was run");
	check_coverage(&following);
	if (!passed && following.child > 0)
		kill(following.child, SIGKILL);
	jp_truth_free(following.truth);
	jp_truth_stack_free(&following.stack);
}
