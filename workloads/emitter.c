// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emitter.h"

#include <errno.h>
#include <string.h>

#include "harness/truth_write.h"
#include "workloads/publish.h"
#include "workloads/publish/eh_frame.h"

enum { CODE_ALIGN = 16 };

static const char *const texts[JP_SHAPES] = {
	[JP_SHAPE_FP] = "fp",     [JP_SHAPE_LEAF] = "leaf",   [JP_SHAPE_NO_FP] = "no_fp",
	[JP_SHAPE_LONG] = "long", [JP_SHAPE_LARGE] = "large", [JP_SHAPE_REALIGN] = "realign",
};

const char *jp_shape_text(enum jp_shape shape)
{
	return shape < JP_SHAPES ? texts[shape] : "?";
}

/*
 * Call frame information for what was emitted at @at, in @apart or behind the code, as runtimes do
 * that unwind themselves. Returns the bytes of the arena that it takes, or -errno.
 */
static int add_unwinding(const struct jp_arena *arena, size_t at, const struct jp_emitted *emitted,
			 unsigned char apart[JP_EH_FRAME_MOST], struct jp_published *published)
{
	unsigned extras = jp_publish_extras();
	size_t behind = (emitted->size + 7u) & -8u, room = arena->size - at;
	int size;

	if (!(extras & (JP_PUBLISH_UNWINDING | JP_PUBLISH_UNWINDING_APART)))
		return emitted->size;
	size = jp_eh_frame(emitted, apart, JP_EH_FRAME_MOST, &published->unwinding_hdr_size);
	if (size < 0)
		return size;
	published->unwinding = apart;
	published->unwinding_size = size;
	if (extras & JP_PUBLISH_UNWINDING_APART)
		return emitted->size;
	if (behind + size > room)
		return -ENOSPC;
	memcpy(arena->write + at + behind, apart, size);
	published->unwinding_mapped = size;
	return behind + size;
}

int jp_emit(struct jp_arena *arena, enum jp_shape shape, const char *name,
	    struct jp_function *function)
{
	/* A layout holds for every function of its shape, in every process that knows its id. */
	static uint32_t layouts[JP_SHAPES];
	size_t at = (arena->used + CODE_ALIGN - 1) & -CODE_ALIGN;
	uint64_t before = jp_truth_now();
	unsigned char unwinding[JP_EH_FRAME_MOST];
	struct jp_published published;
	struct jp_emitted emitted;
	int ret, taken;

	if (arena->protect == JP_PROTECT_FLIP && arena->executable)
		return -EBUSY; /* threads run there: it cannot be made writable again */
	if (at > arena->size)
		return -ENOSPC;
	ret = jp_arch_emit(shape, arena->write + at, arena->size - at, &emitted);
	if (ret)
		return ret;
	if (!layouts[shape])
		layouts[shape] = jp_truth_layout(emitted.insns, emitted.nr_insns);
	__builtin___clear_cache((char *)arena->exec + at, (char *)arena->exec + at + emitted.size);
	*function = (struct jp_function){.id = jp_truth_id(),
					 .shape = shape,
					 .code = (uintptr_t)arena->exec + at,
					 .size = emitted.size};
	published = (struct jp_published){.name = name,
					  .addr = function->code,
					  .size = function->size,
					  .code = arena->write + at,
					  .index = function->id};
	taken = add_unwinding(arena, at, &emitted, unwinding, &published);
	ret = taken < 0 ? taken : jp_publish_load(&published);
	if (ret)
		return ret;
	jp_truth_put(JP_TRUTH_CODE_LOAD, before, jp_truth_now(), function->code, function->size,
		     layouts[shape] | (uint64_t)jp_truth_text(name) << 32, function->id);
	arena->used = at + taken;
	return 0;
}
