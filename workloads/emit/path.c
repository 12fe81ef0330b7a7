// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "harness/base/return_address.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/frame_walk.h"
#include "workloads/emit/workload.h"

enum { MOST_FRAMES = JP_WALK_MOST, MOST_DEPTH = 4096 };

/* A thread's native frames that called its emitted code, and its current activation. */
struct native {
	uint32_t root[JP_ROOTS];    /* by method: id of the native frames in the truth; 0: none */
	uint64_t bp, caller;        /* the frame of jp_arch_enter() to which @root belongs */
	struct jp_frame_walk chain; /* frames that the frame-pointer rule finds from @bp on */
	struct jp_truth_entry activation;
	uint64_t interrupted_ip; /* address of the interrupted instruction; 0: none */
	uint32_t flags;          /* JP_ENTER_* of the next activation */
	sem_t *entered;          /* posted when the thread enters its next path; NULL: none */
};
static __thread struct native native;

static uint64_t draw_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static int is_prime(uint64_t n)
{
	if (n < 4)
		return n >= 2;
	if (n % 2 == 0)
		return 0;
	for (uint64_t divisor = 3; divisor * divisor <= n; divisor += 2)
		if (n % divisor == 0)
			return 0;
	return 1;
}

/* Returns a prime near @about that no step of @path has yet. */
static uint64_t find_prime(const struct jp_path *path, uint64_t about, uint64_t *random)
{
	uint64_t prime = about / 2 + draw_random(random) % (about + 1);

	for (;; prime++) {
		int is_taken = 0;

		if (!is_prime(prime))
			continue;
		for (uint32_t i = 0; i < path->depth && !is_taken; i++)
			is_taken = path->steps[i].loops_before == prime ||
				   path->steps[i].loops_after == prime ||
				   (path->steps[i].repeat == prime && prime > 1);
		if (!is_taken)
			return prime;
	}
}

int jp_path_make(struct jp_path *path, const struct jp_function *const *functions, uint32_t depth,
		 uint64_t turns)
{
	static atomic_uint nr_made;
	unsigned number = atomic_fetch_add(&nr_made, 1);
	uint64_t random = jp_handshake_setup()->seed * 0xd1342543de82ef95 + number, about,
		 repeat = 1;
	uint32_t *ids;

	if (!depth || depth > MOST_DEPTH)
		return -EINVAL;
	turns /= jp_handshake_setup()->shorter;
	for (uint32_t d = 0; d + 1 < depth; d++)
		if (!jp_shape_calls(functions[d]->shape))
			return -EINVAL;
	if (!jp_shape_ends(functions[depth - 1]->shape))
		return -EINVAL;
	ids = calloc(depth, sizeof(*ids));
	path->steps = calloc(depth + 2, sizeof(*path->steps));
	path->depth = depth;
	path->stack = NULL;
	if (!ids || !path->steps) {
		free(ids);
		jp_path_free(path);
		return -ENOMEM;
	}
	/* Every second path repeats its calls with short loops, so that prologues and epilogues get
	 * their share of the samples. The others call once. */
	if (number % 2 && depth > 1 && turns / depth > 4096)
		repeat = find_prime(path, turns / depth / 64, &random);
	path->steps[0].repeat = repeat;
	about = turns / (2 * depth * repeat);
	for (uint32_t d = 0; d < depth; d++) {
		struct jp_path_step *step = &path->steps[d];

		ids[d] = functions[d]->id;
		step->code = functions[d]->code;
		/* Make fewer system calls: each takes as long as hundreds of loop iterations. */
		step->loops_before = find_prime(
			path, functions[d]->shape == JP_SHAPE_SYSCALL ? about / 512 + 1 : about,
			&random);
		step->loops_after = find_prime(path, about, &random);
		step->repeat = d ? 1 : repeat;
	}
	path->id = jp_truth_path(ids, depth);
	free(ids);
	return 0;
}

void jp_path_free(struct jp_path *path)
{
	free(path->steps);
	memset(path, 0, sizeof(*path));
}

struct backtrace {
	uint64_t frames[MOST_FRAMES];
	uint32_t count;
	uint64_t caller; /* return address that begins the frames to record: skip our own frames */
	int begun;
	uint64_t stop_address; /* return address of the frame before which recording ends */
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data)
{
	struct backtrace *trace = data;
	uint64_t ip = _Unwind_GetIP(context);

	trace->begun |= ip == trace->caller;
	if (!ip || ip == trace->stop_address || trace->count == MOST_FRAMES)
		return _URC_END_OF_STACK;
	if (trace->begun)
		trace->frames[trace->count++] = ip;
	return _URC_NO_REASON;
}

/* Returns the frame record to which the frame pointer @bp leads: the caller's frame pointer, and
 * the return address. */
static const uintptr_t *get_record(uint64_t bp)
{
	return (const uintptr_t *)(uintptr_t)(bp - jp_arch_elf.fp_above);
}

/* Returns the return address in the frame at @bp. */
static uint64_t read_caller(uint64_t bp)
{
	return jp_return_address(get_record(bp)[1], jp_arch_elf.signature);
}

/* Records the frames above the frame of jp_arch_enter() at @bp, once per method. */
static void record_roots(uint64_t bp)
{
	struct backtrace trace = {.caller = read_caller(bp), .stop_address = native.interrupted_ip};
	uint64_t chain[1 + MOST_FRAMES] = {(uintptr_t)jp_arch_enter_return};

	native.bp = bp;
	native.caller = trace.caller;
	jp_frame_walk(bp, &native.chain);
	memcpy(chain + 1, native.chain.addresses, native.chain.count * sizeof(*chain));
	native.root[JP_CHAIN] = jp_truth_root(JP_CHAIN, chain, 1 + native.chain.count);
	trace.frames[trace.count++] = (uintptr_t)jp_arch_enter_return;
	_Unwind_Backtrace(add_frame, &trace);
	native.root[JP_DUMP] = jp_truth_root(JP_DUMP, trace.frames, trace.count);
}

/* Returns whether the frame-pointer rule now finds other frames than the recorded frames: in frames
 * of the C library it may read any data, which changes. @fp: frame pointer of the function that
 * called jp_arch_enter(), whose own frame no longer exists. */
static bool has_chain_changed(uint64_t fp)
{
	const struct jp_frame_walk *chain = &native.chain;
	uintptr_t frames[16][2];
	uint64_t next = fp;

	for (uint32_t i = 1, n; i < chain->count; i += n) {
		n = chain->count - i < 16 ? chain->count - i : 16;
		if (jp_frame_read(chain->records + i, frames, n) != n)
			return true;
		for (uint32_t k = 0; k < n; k++) {
			if (chain->records[i + k] != next ||
			    chain->addresses[i + k] != frames[k][1])
				return true;
			next = frames[k][0];
		}
	}
	if (next != chain->end)
		return true;
	/* The page where the rule ended may have become readable. The zero page never does. */
	return chain->count < JP_WALK_MOST && next >= 4096 &&
	       jp_frame_read_next(next, chain->count ? chain->records[chain->count - 1] : 0,
				  frames);
}

/* Records the activation. jp_arch_enter() calls this from the frame from which it will call the
 * code. */
static void record_entry(void *context, uint64_t sp, uint64_t bp)
{
	const struct jp_path *path = context;

	/* The same frame address may have another caller now. */
	if (!native.root[JP_CHAIN] || native.bp != bp || native.caller != read_caller(bp) ||
	    has_chain_changed(get_record(bp)[0]))
		record_roots(bp);
	native.activation = (struct jp_truth_entry){
		.path = path->id,
		.flags = native.flags | (path->stack ? JP_ENTER_OTHER_STACK : 0),
		.sp = sp,
		.bp = bp,
		.chain = native.root[JP_CHAIN],
		.dump = native.root[JP_DUMP]};
	jp_truth_enter(&native.activation);
	if (native.entered)
		sem_post(native.entered);
	native.entered = NULL;
	jp_truth_begin_activation();
}

void __attribute__((noinline)) jp_path_run(const struct jp_path *path)
{
	struct jp_truth_clocks leave_clocks;
	bool is_changed;

	jp_arch_enter(path->steps, record_entry, (void *)path, path->stack);
	leave_clocks = jp_truth_read_clocks();
	is_changed = has_chain_changed((uintptr_t)__builtin_frame_address(0));
	if (is_changed)
		native.root[JP_CHAIN] = 0;
	jp_truth_leave(&leave_clocks, path->id, is_changed ? JP_LEAVE_CHANGED : 0, 0, 0);
}

sem_t *jp_path_set_inside(sem_t *inside)
{
	sem_t *unposted = native.entered;

	native.entered = inside;
	return unposted;
}

void jp_paths_run(const struct jp_path *paths, size_t count, uint64_t ns)
{
	uint64_t end = jp_clock_now() + ns;

	for (size_t i = 0; jp_clock_now() < end; i++)
		jp_path_run(&paths[i % count]);
}

void jp_path_make_call_out(struct jp_path *path, void (*out)(void))
{
	path->steps[path->depth] = (struct jp_path_step){.code = (uintptr_t)jp_arch_call_out,
							 .loops_before = (uintptr_t)out};
}

struct jp_paused {
	struct native native;
};

/* Ends the current activation. Call only from functions that emitted code calls or that interrupted
 * it: then malloc() is not active in this thread. */
static struct jp_paused *pause_activation(uint64_t flags, uint64_t ip, uint64_t sp)
{
	const struct jp_truth_clocks leave_clocks = jp_truth_read_clocks();
	struct jp_paused *paused = malloc(sizeof(*paused));

	if (!paused) {
		fprintf(stderr, "jitproof workload: no memory\n");
		exit(EXIT_FAILURE);
	}
	jp_truth_leave(&leave_clocks, native.activation.path, flags, ip, sp);
	paused->native = native;
	native.root[JP_CHAIN] = native.root[JP_DUMP] = 0;
	native.interrupted_ip = ip;
	return paused;
}

struct jp_paused *jp_path_pause(void)
{
	struct jp_paused *paused = pause_activation(0, 0, 0);

	native.flags = 0;
	return paused;
}

struct jp_paused *jp_path_interrupt(uint64_t ip, uint64_t sp, int apart)
{
	struct jp_paused *paused = pause_activation(JP_LEAVE_INTERRUPTED, ip, sp);

	native.flags = JP_ENTER_INTERRUPTED | (apart ? JP_ENTER_OTHER_STACK : 0);
	return paused;
}

void jp_path_resume(struct jp_paused *paused)
{
	native = paused->native;
	free(paused);
	jp_truth_enter(&native.activation);
	jp_truth_begin_activation();
}
