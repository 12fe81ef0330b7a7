// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/program.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/format/truth/write.h"
#include "workloads/emit/shapes.h"

enum { ARENA = 64 << 10, PATHS = 8 };

/* Number of functions of each shape in a program. A path never has more than one large frame, so
 * that a stack dump of 8 KiB reaches the root at the default depth. */
static const unsigned of_shape[JP_SHAPES_USUAL] = {
	[JP_SHAPE_FP] = 8,   [JP_SHAPE_LEAF] = 4,  [JP_SHAPE_NO_FP] = 4,
	[JP_SHAPE_LONG] = 4, [JP_SHAPE_LARGE] = 2, [JP_SHAPE_REALIGN] = 4,
};

static unsigned count_shape(enum jp_shape shape, unsigned variant)
{
	return of_shape[shape] + (variant + shape) % 3 * (variant > 0);
}

static unsigned count_functions(unsigned variant)
{
	unsigned count = 0;

	for (unsigned shape = 0; shape < JP_SHAPES_USUAL; shape++)
		count += count_shape(shape, variant);
	return count;
}

size_t jp_program_code_size(void)
{
	enum { VARIANTS = 4 }; /* later variants repeat these four */
	struct jp_emitted emitted;
	size_t max = 0;

	for (unsigned variant = 0; variant < VARIANTS; variant++) {
		size_t size = 0;

		for (unsigned shape = 0; shape < JP_SHAPES_USUAL; shape++) {
			jp_shape_emit(shape, NULL, 0, &emitted);
			size += count_shape(shape, variant) *
				(size_t)((emitted.size + JP_CODE_ALIGN - 1) & -JP_CODE_ALIGN);
		}
		max = size > max ? size : max;
	}
	return max;
}

int jp_program_write(struct jp_program *program, unsigned variant)
{
	static atomic_uint programs;
	unsigned count = count_functions(variant);

	program->number = atomic_fetch_add(&programs, 1);
	program->functions = calloc(count, sizeof(*program->functions));
	if (!program->functions)
		return -ENOMEM;
	for (unsigned n = 0; n < JP_SHAPES_USUAL; n++) {
		unsigned shape = (n + variant) % JP_SHAPES_USUAL;

		for (unsigned i = 0; i < count_shape(shape, variant); i++) {
			int ret = jp_emit_write(&program->arena, shape,
						&program->functions[program->nr_functions]);

			if (ret)
				return ret;
			program->nr_functions++;
		}
	}
	return 0;
}

int jp_program_load(struct jp_program *program)
{
	int ret = 0;

	for (size_t i = 0; i < program->nr_functions && !ret; i++) {
		char name[48];

		snprintf(name, sizeof(name), "program%u_%s_%zu", program->number,
			 jp_shape_text(program->functions[i].shape), i);
		ret = jp_emit_load(&program->functions[i], name);
	}
	return ret;
}

/* Returns function number @index, modulo the number of such functions, of the program's functions
 * of
 * @shape. */
static const struct jp_function *pick_function(const struct jp_program *program,
					       enum jp_shape shape, unsigned index)
{
	size_t start = 0, count = 0;

	while (program->functions[start].shape != shape)
		start++;
	while (start + count < program->nr_functions &&
	       program->functions[start + count].shape == shape)
		count++;
	return &program->functions[start + index % count];
}

/* The usual mix: the outermost function mostly has a frame pointer, the middle has every shape, and
 * the innermost function varies. A function without frame pointer hides its caller from the
 * kernel's walk while its callees run, so only every second path has such functions in the
 * middle. */
static enum jp_shape pick_mixed_shape(unsigned path, unsigned level, unsigned depth)
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

	if (level + 1 == depth)
		return inner[path % PATHS];
	if (!level)
		return outer[path % PATHS];
	if (level == 1 + path % 4)
		return JP_SHAPE_LARGE;
	shape = middle[(level + path) % (sizeof(middle) / sizeof(middle[0]))];
	return shape == JP_SHAPE_NO_FP && path % 2 == 0 ? JP_SHAPE_FP : shape;
}

static enum jp_shape pick_shape(const struct jp_plan *plan, unsigned path, unsigned level)
{
	if (!plan->nr_shapes)
		return pick_mixed_shape(path, level, plan->depth);
	/* The last shape of the list is that of the innermost function. */
	if (level + 1 == plan->depth)
		return plan->shapes[plan->nr_shapes - 1];
	return plan->shapes[level % (plan->nr_shapes - (plan->nr_shapes > 1))];
}

int jp_program_make_paths(struct jp_program *program, const struct jp_plan *plan)
{
	const struct jp_function **functions = calloc(plan->depth, sizeof(*functions));
	int ret;

	program->paths = calloc(PATHS, sizeof(*program->paths));
	ret = functions && program->paths ? 0 : -ENOMEM;

	for (unsigned path = 0; path < PATHS && !ret; path++) {
		for (unsigned level = 0; level < plan->depth; level++)
			functions[level] = pick_function(program, pick_shape(plan, path, level),
							 path * 3 + level);
		ret = jp_path_make(&program->paths[path], functions, plan->depth, plan->turns);
		program->nr_paths += !ret;
	}
	free(functions);
	return ret;
}

int jp_program_make(struct jp_program *program, const struct jp_plan *plan)
{
	int ret;

	memset(program, 0, sizeof(*program));
	ret = jp_arena_map(&program->arena, plan->protect, ARENA, plan->name);
	if (ret == -EPERM && plan->instead != plan->protect)
		ret = jp_arena_map(&program->arena, plan->instead, ARENA, plan->name);
	if (!ret)
		ret = jp_program_write(program, 0)
			      ?: jp_program_load(program)
			      ?: jp_arena_make_executable(&program->arena)
			      ?: jp_program_make_paths(program, plan);
	if (ret)
		jp_program_end(program);
	return ret;
}

int jp_program_record_move(struct jp_program *program, uint64_t to, uint64_t before, uint64_t after)
{
	uint64_t distance = to - (uintptr_t)program->arena.exec;
	int ret = 0;

	for (size_t i = 0; i < program->nr_functions && !ret; i++)
		ret = jp_emit_move(&program->functions[i], program->functions[i].code + distance,
				   before, after);
	for (size_t i = 0; i < program->nr_paths; i++)
		for (uint32_t d = 0; d < program->paths[i].depth; d++)
			program->paths[i].steps[d].code += distance;
	program->arena.write += program->arena.write == program->arena.exec ? distance : 0;
	program->arena.exec += distance;
	return ret;
}

int jp_program_move(struct jp_program *program)
{
	struct jp_arena arena = program->arena;
	uint64_t before = jp_clock_now();
	int ret = jp_arena_remap(&arena, arena.size);

	if (ret)
		return ret;
	ret = jp_program_record_move(program, (uintptr_t)arena.exec, before, jp_clock_now());
	arena.used = program->arena.used;
	program->arena = arena;
	return ret;
}

void jp_program_unload(struct jp_program *program, uint64_t before, uint64_t after)
{
	for (size_t i = 0; i < program->nr_functions; i++)
		jp_truth_code_unload(before, after, program->functions[i].id);
	for (size_t i = 0; i < program->nr_paths; i++)
		jp_path_free(&program->paths[i]);
	free(program->functions);
	free(program->paths);
	program->functions = NULL;
	program->paths = NULL;
	program->nr_functions = program->nr_paths = 0;
}

void jp_program_end(struct jp_program *program)
{
	uint64_t before = jp_clock_now();

	if (program->arena.exec)
		jp_arena_unmap(&program->arena);
	jp_program_unload(program, before, jp_clock_now());
	memset(program, 0, sizeof(*program));
}
