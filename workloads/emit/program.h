/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/option.h"
#include "workloads/emit/path.h"

/* What a JIT would have compiled: an arena of functions of mixed shapes, and paths through them. */
struct jp_program {
	unsigned number; /* in its functions' names */
	struct jp_arena arena;
	struct jp_function *functions;
	size_t nr_functions;
	struct jp_path *paths;
	size_t nr_paths;
	struct jp_program *next; /* for whoever keeps several */
};

/* How programs are made, and what a workload of such programs offers as options. */
struct jp_plan {
	enum jp_protect protect;
	const char *name;        /* of the memfd, for JP_PROTECT_VIEWS */
	enum jp_protect instead; /* where @protect fails with EPERM (memfd denied) */
	unsigned programs, threads, depth, mappings, late;
	enum jp_shape
		shapes[64]; /* of each path, outermost first, from the start again when deeper */
	unsigned nr_shapes; /* 0: all of them, mixed */
	uint64_t turns;     /* of one run of a path */
};
#define JP_PLAN(...)                                                                               \
	{                                                                                          \
		.programs = 1, .threads = 1, .depth = 8, .turns = 700000, __VA_ARGS__              \
	}
/* The rows of a command line for the struct jp_plan @plan; and those of them that say how its paths
 * are. */
const struct jp_option *jp_plan_rows(void *plan);
const struct jp_option *jp_path_rows(void *plan);

/* Maps an arena, emits functions into it and makes paths of them. 0 or -errno. */
int jp_program_make(struct jp_program *program, const struct jp_plan *plan);
/*
 * The same in steps, for code whose arena someone else protects: writes the functions into
 * program->arena, which is set up; tells that they are there; makes their paths. @variant: of which
 * shapes there are how many, and in which order they lie. 0 or -errno.
 */
int jp_program_write(struct jp_program *program, unsigned variant);
int jp_program_load(struct jp_program *program);
int jp_program_make_paths(struct jp_program *program, const struct jp_plan *plan);
/* Its code came to @to by an act within [@before, @after]: tells so, and leads its paths there. No
 * thread may run it. */
int jp_program_moved(struct jp_program *program, uint64_t to, uint64_t before, uint64_t after);
/* Its code is gone, as above; frees all but the arena. */
void jp_program_unloaded(struct jp_program *program, uint64_t before, uint64_t after);

/* Moves its code elsewhere by mremap(). No thread may run it. */
int jp_program_move(struct jp_program *program);
/* Unmaps its code. No thread may run it. */
int jp_program_end(struct jp_program *program);

/*
 * Runs programs by @plan until told to stop, with the steps
 *	map	a new program and a thread in it
 *	unmap	stops the threads of the oldest program and unmaps it
 *	remap	stops them, moves it and starts as many again
 *	thread	one more thread in the oldest program
 *	exec	the process starts again with new code; ARG is one option more
 * Returns the exit status.
 */
int jp_plan_run(const char *workload, const struct jp_plan *plan);
