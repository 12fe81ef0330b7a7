// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/truth_write.h"
#include "workloads/publish.h"

enum { ARENA = 64 << 10, PATHS = 8 };

/* How many functions of each shape a program has: a path never holds more than one large frame,
 * so that a stack dump of 8 KiB reaches the root from the default depth. */
static const unsigned of_shape[JP_SHAPES] = {
	[JP_SHAPE_FP] = 8,   [JP_SHAPE_LEAF] = 4,  [JP_SHAPE_NO_FP] = 4,
	[JP_SHAPE_LONG] = 4, [JP_SHAPE_LARGE] = 2, [JP_SHAPE_REALIGN] = 4,
};

static int emit_all(struct jp_program *program)
{
	static unsigned programs;
	unsigned number = programs++;

	for (unsigned shape = 0; shape < JP_SHAPES; shape++) {
		for (unsigned i = 0; i < of_shape[shape]; i++) {
			char name[48];
			int ret;

			snprintf(name, sizeof(name), "program%u_%s_%u", number,
				 jp_shape_text(shape), i);
			ret = jp_emit(&program->arena, shape, name,
				      &program->functions[program->nr_functions]);
			if (ret)
				return ret;
			program->nr_functions++;
		}
	}
	return 0;
}

/* The @index-th function of @shape, counted round. */
static const struct jp_function *pick(const struct jp_program *program, enum jp_shape shape,
				      unsigned index)
{
	unsigned first = 0;

	for (unsigned before = 0; before < shape; before++)
		first += of_shape[before];
	return &program->functions[first + index % of_shape[shape]];
}

/*
 * The mix: outermost mostly with a frame pointer, every shape in the middle, the innermost varied.
 * A function without frame pointer hides a caller from the kernel's walk all the time that its
 * callees run, so only every second path has any in the middle.
 */
static enum jp_shape mixed_shape(unsigned path, unsigned at, unsigned depth)
{
	static const enum jp_shape outer[PATHS] = {
		JP_SHAPE_FP, JP_SHAPE_FP,    JP_SHAPE_LONG,    JP_SHAPE_FP,
		JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_REALIGN, JP_SHAPE_FP,
	};
	static const enum jp_shape middle[] = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_LONG,
					       JP_SHAPE_REALIGN, JP_SHAPE_NO_FP};
	static const enum jp_shape inner[PATHS] = {
		JP_SHAPE_FP,   JP_SHAPE_LEAF, JP_SHAPE_LEAF,    JP_SHAPE_NO_FP,
		JP_SHAPE_LONG, JP_SHAPE_LEAF, JP_SHAPE_REALIGN, JP_SHAPE_FP,
	};
	enum jp_shape shape;

	if (at + 1 == depth)
		return inner[path % PATHS];
	if (!at)
		return outer[path % PATHS];
	if (at == 1 + path % 4)
		return JP_SHAPE_LARGE;
	shape = middle[(at + path) % (sizeof(middle) / sizeof(middle[0]))];
	return shape == JP_SHAPE_NO_FP && path % 2 == 0 ? JP_SHAPE_FP : shape;
}

static enum jp_shape shape_at(const struct jp_plan *plan, unsigned path, unsigned at)
{
	if (!plan->nr_shapes)
		return mixed_shape(path, at, plan->depth);
	/* The last shape that was named is the innermost one. */
	if (at + 1 == plan->depth)
		return plan->shapes[plan->nr_shapes - 1];
	return plan->shapes[at % (plan->nr_shapes - (plan->nr_shapes > 1))];
}

static int make_paths(struct jp_program *program, const struct jp_plan *plan)
{
	const struct jp_function **functions = calloc(plan->depth, sizeof(*functions));
	int ret = functions ? 0 : -ENOMEM;

	for (unsigned path = 0; path < PATHS && !ret; path++) {
		for (unsigned at = 0; at < plan->depth; at++)
			functions[at] = pick(program, shape_at(plan, path, at), path * 3 + at);
		ret = jp_path_make(&program->paths[path], functions, plan->depth, plan->turns);
		program->nr_paths += !ret;
	}
	free(functions);
	return ret;
}

int jp_program_make(struct jp_program *program, const struct jp_plan *plan)
{
	unsigned count = 0;
	int ret;

	memset(program, 0, sizeof(*program));
	for (unsigned shape = 0; shape < JP_SHAPES; shape++)
		count += of_shape[shape];
	program->functions = calloc(count, sizeof(*program->functions));
	program->paths = calloc(PATHS, sizeof(*program->paths));
	if (!program->functions || !program->paths) {
		ret = -ENOMEM;
		goto fail;
	}
	ret = jp_arena_map(&program->arena, plan->protect, ARENA, plan->name, NULL);
	if (ret == -EPERM && plan->instead != plan->protect)
		ret = jp_arena_map(&program->arena, plan->instead, ARENA, plan->name, NULL);
	if (ret)
		goto fail;
	ret = emit_all(program);
	if (!ret)
		ret = jp_arena_seal(&program->arena);
	if (!ret)
		ret = make_paths(program, plan);
	if (!ret)
		return 0;
fail:
	jp_program_end(program);
	return ret;
}

int jp_program_move(struct jp_program *program)
{
	uint64_t from = (uintptr_t)program->arena.exec, by, before = jp_truth_now(), after;
	int ret = jp_arena_remap(&program->arena, program->arena.size);

	if (ret)
		return ret;
	by = (uintptr_t)program->arena.exec - from;
	for (size_t i = 0; i < program->nr_functions; i++) {
		struct jp_function *function = &program->functions[i];
		struct jp_published moved = {.addr = function->code + by,
					     .size = function->size,
					     .code = (void *)(uintptr_t)(function->code + by),
					     .index = function->id};

		ret = jp_publish_move(&moved, function->code);
		if (ret)
			return ret;
		function->code += by;
	}
	after = jp_truth_now();
	for (size_t i = 0; i < program->nr_functions; i++) {
		const struct jp_function *function = &program->functions[i];

		jp_truth_put(JP_TRUTH_CODE_MOVE, before, after, function->id, function->code, 0, 0);
	}
	for (size_t i = 0; i < program->nr_paths; i++)
		for (uint32_t d = 0; d < program->paths[i].depth; d++)
			program->paths[i].steps[d].code += by;
	return 0;
}

int jp_program_end(struct jp_program *program)
{
	uint64_t before = jp_truth_now(), after;
	int ret = program->arena.exec ? jp_arena_unmap(&program->arena) : 0;

	after = jp_truth_now();
	for (size_t i = 0; i < program->nr_functions && !ret; i++)
		jp_truth_put(JP_TRUTH_CODE_UNLOAD, before, after, program->functions[i].id, 0, 0,
			     0);
	for (size_t i = 0; i < program->nr_paths; i++)
		jp_path_free(&program->paths[i]);
	free(program->functions);
	free(program->paths);
	memset(program, 0, sizeof(*program));
	return ret;
}
