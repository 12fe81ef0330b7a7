// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/shapes.h"
#include "workloads/emit/emitter.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/frame_walk.h"
#include "workloads/emit/publish.h"
#include "workloads/emit/eh_frame.h"

static const char *const texts[JP_SHAPES] = {
	[JP_SHAPE_FP] = "fp",         [JP_SHAPE_LEAF] = "leaf",
	[JP_SHAPE_NO_FP] = "no_fp",   [JP_SHAPE_LONG] = "long",
	[JP_SHAPE_LARGE] = "large",   [JP_SHAPE_REALIGN] = "realign",
	[JP_SHAPE_HUGE] = "huge",     [JP_SHAPE_OTHER_BP] = "other_bp",
	[JP_SHAPE_TAIL] = "tail",     [JP_SHAPE_STUB] = "stub",
	[JP_SHAPE_HOLLOW] = "hollow", [JP_SHAPE_CLOCK] = "clock",
	[JP_SHAPE_MISLED] = "misled", [JP_SHAPE_SYSCALL] = "syscall",
};

const char *jp_shape_text(enum jp_shape shape)
{
	return shape < JP_SHAPES ? texts[shape] : "?";
}

int jp_shape_calls(enum jp_shape shape)
{
	return shape != JP_SHAPE_LEAF && shape != JP_SHAPE_SYSCALL;
}

uint32_t jp_shape_returns(enum jp_shape shape)
{
	struct jp_emitted emitted;

	if (jp_shape_emit(shape, NULL, 0, &emitted))
		return 0;
	for (uint32_t i = 0; i < emitted.nr_insns; i++)
		if (emitted.insns[i].bp & JP_INSN_RETURN)
			return emitted.insns[i].offset;
	return 0;
}

int jp_shape_ends(enum jp_shape shape)
{
	return shape != JP_SHAPE_STUB && shape != JP_SHAPE_CLOCK;
}

/* Writes call frame information of code with layout @emitted to @out and stores a reference to it
 * in
 * @published. With `unwinding` it must also be in memory after the code, as in runtimes that unwind
 * themselves; with `unwinding-apart` not. Returns 0 or -errno. */
static int describe_frames(const struct jp_emitted *emitted, unsigned char out[JP_EH_FRAME_MOST],
			   struct jp_published *published)
{
	unsigned nr_extras = jp_publish_extras();
	int size;

	if (!(nr_extras & (JP_PUBLISH_UNWINDING | JP_PUBLISH_UNWINDING_APART)))
		return 0;
	size = jp_eh_frame(emitted, out, JP_EH_FRAME_MOST, &published->unwinding_hdr_size);
	if (size < 0)
		return size;
	published->unwinding = out;
	published->unwinding_size = size;
	published->unwinding_mapped = nr_extras & JP_PUBLISH_UNWINDING_APART ? 0 : size;
	return 0;
}

/* Writes call frame information after the function at offset @offset of the arena, if it must be in
 * memory. Returns the number of bytes of the arena that function and information use, or -errno. */
static int write_frames(const struct jp_arena *arena, size_t offset,
			const struct jp_emitted *emitted)
{
	unsigned char frames[JP_EH_FRAME_MOST];
	struct jp_published published = {.unwinding_mapped = 0};
	size_t nr_after = (emitted->size + 7u) & -8u;
	int ret = describe_frames(emitted, frames, &published);

	if (ret)
		return ret;
	if (!published.unwinding_mapped)
		return emitted->size;
	if (nr_after + published.unwinding_mapped > arena->size - offset)
		return -ENOSPC;
	memcpy(arena->write + offset + nr_after, frames, published.unwinding_mapped);
	return nr_after + published.unwinding_mapped;
}

/* Returns the id of the layout of @shape, and records the layout if no call did before. Forked
 * children inherit the id. */
static uint32_t record_layout(enum jp_shape shape, const struct jp_emitted *emitted)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint32_t layouts[JP_SHAPES];
	uint32_t layout;

	pthread_mutex_lock(&lock);
	if (!layouts[shape])
		layouts[shape] = jp_truth_layout(emitted->insns, emitted->nr_insns);
	layout = layouts[shape];
	pthread_mutex_unlock(&lock);
	return layout;
}

int jp_emit_write(struct jp_arena *arena, enum jp_shape shape, struct jp_function *function)
{
	size_t offset = (arena->used + JP_CODE_ALIGN - 1) & -JP_CODE_ALIGN;
	struct jp_emitted emitted;
	int ret, frames_size;

	if (arena->protect == JP_PROTECT_FLIP && arena->executable)
		return -EBUSY; /* threads may run the arena's code, so it must stay executable */
	if (offset > arena->size)
		return -ENOSPC;
	ret = jp_shape_emit(shape, arena->write + offset, arena->size - offset, &emitted);
	if (ret)
		return ret;
	frames_size = write_frames(arena, offset, &emitted);
	if (frames_size < 0)
		return frames_size;
	__builtin___clear_cache((char *)arena->exec + offset,
				(char *)arena->exec + offset + emitted.size);
	*function = (struct jp_function){.id = jp_truth_id(),
					 .layout = record_layout(shape, &emitted),
					 .shape = shape,
					 .code = (uintptr_t)arena->exec + offset,
					 .size = emitted.size,
					 .word_at = emitted.word};
	arena->used = offset + frames_size;
	return 0;
}

static void record_load(const struct jp_function *function, const char *name, uint64_t before,
			uint64_t after)
{
	jp_truth_code_load(before, after,
			   &(struct jp_truth_load){.addr = function->code,
						   .size = function->size,
						   .function = function->id,
						   .layout = function->layout,
						   .frames = function->frames,
						   .name = jp_truth_text(name)});
}

/* Records facts about the function's frames that its layout does not contain. */
static void record_frames(struct jp_function *function)
{
	struct jp_frame_walk walk;
	uint32_t detour = 0;

	if (function->shape == JP_SHAPE_OTHER_BP && function->word) {
		jp_frame_walk(function->word, &walk);
		if (walk.count)
			detour = jp_truth_root(JP_CHAIN, walk.addresses, walk.count);
	}
	if (detour || function->cfi_status || function->word)
		function->frames = jp_truth_frames(function->cfi_status, function->word, detour, 0);
}

int jp_emit_set_word(struct jp_arena *arena, struct jp_function *function, uint64_t word)
{
	uint64_t offset = function->code + function->word_at - (uintptr_t)arena->exec;

	if (!function->word_at)
		return -EINVAL;
	memcpy(arena->write + offset, &word, sizeof(word));
	function->word = word;
	record_frames(function);
	return 0;
}

int jp_emit_record(struct jp_function *function, const char *name, uint64_t before, uint64_t after)
{
	struct jp_emitted emitted;
	int ret = jp_shape_emit(function->shape, NULL, 0, &emitted);

	if (ret)
		return ret;
	function->id = jp_truth_id();
	function->layout = record_layout(function->shape, &emitted);
	record_frames(function);
	record_load(function, name, before, after);
	return 0;
}

void jp_emit_record_measured(struct jp_function *function, const struct jp_emitted *emitted,
			     const char *name)
{
	uint64_t now = jp_clock_now();

	function->id = jp_truth_id();
	function->layout = jp_truth_layout(emitted->insns, emitted->nr_insns);
	function->frames = jp_truth_frames(function->cfi_status, 0, 0, JP_FRAMES_VDSO);
	record_load(function, name, now, now);
}

/* Number of this image of the process, unique in the truth. 0: none yet. */
static atomic_uint image;

void jp_emit_use_new_names(void)
{
	atomic_store(&image, 0);
}

/* Stores in @unique, of @size bytes, @name with a suffix that makes it unique among all processes.
 * All suffixes have the same length. Returns 0 or -ENAMETOOLONG. */
static int make_unique_name(const char *name, char *unique, size_t size)
{
	unsigned unset = 0, new_id;

	if (!atomic_load(&image)) {
		new_id = jp_truth_id();
		atomic_compare_exchange_strong(&image, &unset, new_id);
	}
	return snprintf(unique, size, "%s_%08x", name, atomic_load(&image)) < (int)size
		       ? 0
		       : -ENAMETOOLONG;
}

static int publish_code(const struct jp_function *function, const char *name, uint64_t before)
{
	char unique[128];
	unsigned char frames[JP_EH_FRAME_MOST];
	struct jp_published published = {.name = unique,
					 .addr = function->code,
					 .size = function->size,
					 .code = (const void *)(uintptr_t)function->code,
					 .index = function->id};
	struct jp_emitted emitted;
	int ret = make_unique_name(name, unique, sizeof(unique))
			  ?: jp_shape_emit(function->shape, NULL, 0, &emitted)
			  ?: describe_frames(&emitted, frames, &published)
			  ?: jp_publish_load(&published);

	if (ret)
		return ret;
	record_load(function, unique, before, jp_clock_now());
	return 0;
}

int jp_emit_load(const struct jp_function *function, const char *name)
{
	return publish_code(function, name, jp_clock_now());
}

int jp_emit(struct jp_arena *arena, enum jp_shape shape, const char *name,
	    struct jp_function *function)
{
	uint64_t before = jp_clock_now();

	return jp_emit_write(arena, shape, function) ?: publish_code(function, name, before);
}

int jp_emit_move(struct jp_function *function, uint64_t to, uint64_t before, uint64_t after)
{
	struct jp_published published = {.addr = to,
					 .size = function->size,
					 .code = (const void *)(uintptr_t)to,
					 .index = function->id};
	int ret = jp_publish_move(&published, function->code);

	if (ret)
		return ret;
	function->code = to;
	/* The recorded interval includes publishing, as for a load. */
	after = jp_clock_now();
	jp_truth_code_move(before, after, function->id, to);
	return 0;
}
