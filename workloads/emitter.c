// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emitter.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "harness/truth_write.h"

enum { CODE_ALIGN = 16 };

static const char *const texts[JP_SHAPES] = {
	[JP_SHAPE_FP] = "fp",     [JP_SHAPE_LEAF] = "leaf",   [JP_SHAPE_NO_FP] = "no_fp",
	[JP_SHAPE_LONG] = "long", [JP_SHAPE_LARGE] = "large", [JP_SHAPE_REALIGN] = "realign",
};

const char *jp_shape_text(enum jp_shape shape)
{
	return shape < JP_SHAPES ? texts[shape] : "?";
}

/* A layout holds for every function of its shape, in every process that knows its id. */
static uint32_t layout_of(enum jp_shape shape, const struct jp_emitted *emitted)
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
	size_t at = (arena->used + CODE_ALIGN - 1) & -CODE_ALIGN;
	struct jp_emitted emitted;
	int ret;

	if (arena->protect == JP_PROTECT_FLIP && arena->executable)
		return -EBUSY; /* threads run there: it cannot be made writable again */
	if (at > arena->size)
		return -ENOSPC;
	ret = jp_arch_emit(shape, arena->write + at, arena->size - at, &emitted);
	if (ret)
		return ret;
	__builtin___clear_cache((char *)arena->exec + at, (char *)arena->exec + at + emitted.size);
	*function = (struct jp_function){.id = jp_truth_id(),
					 .layout = layout_of(shape, &emitted),
					 .shape = shape,
					 .code = (uintptr_t)arena->exec + at,
					 .size = emitted.size};
	arena->used = at + emitted.size;
	return 0;
}

static void load(const struct jp_function *function, const char *name, uint64_t before)
{
	jp_truth_put(JP_TRUTH_CODE_LOAD, before, jp_truth_now(), function->code, function->size,
		     function->layout | (uint64_t)jp_truth_text(name) << 32, function->id);
}

void jp_emit_load(const struct jp_function *function, const char *name)
{
	load(function, name, jp_truth_now());
}

int jp_emit(struct jp_arena *arena, enum jp_shape shape, const char *name,
	    struct jp_function *function)
{
	uint64_t before = jp_truth_now();
	int ret = jp_emit_write(arena, shape, function);

	if (!ret)
		load(function, name, before);
	return ret;
}

void jp_emit_move(struct jp_function *function, uint64_t to, uint64_t before, uint64_t after)
{
	function->code = to;
	jp_truth_put(JP_TRUTH_CODE_MOVE, before, after, function->id, to, 0, 0);
}

void jp_emit_unload(const struct jp_function *function, uint64_t before, uint64_t after)
{
	jp_truth_put(JP_TRUTH_CODE_UNLOAD, before, after, function->id, 0, 0, 0);
}
