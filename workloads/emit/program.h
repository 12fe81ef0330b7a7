/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/base/option.h"
#include "workloads/emit/path.h"

/* The code of a JIT: an arena of functions of mixed shapes, and paths through them. */
struct jp_program {
	unsigned number; /* number of the program, a part of its functions' names */
	struct jp_arena arena;
	struct jp_function *functions;
	size_t nr_functions;
	struct jp_path *paths;
	size_t nr_paths;
	struct jp_program *next; /* next program in a list */
};

/* Parameters of programs; command-line options of workloads that run programs. */
struct jp_plan {
	enum jp_protect protect;
	const char *name;        /* name of the memfd for JP_PROTECT_VIEWS */
	enum jp_protect instead; /* used if @protect fails with EPERM, such as a denied memfd */
	unsigned programs, threads, depth, mappings;
	enum jp_shape
		shapes[64]; /* shapes of each path, outermost first; a deeper path repeats them */
	unsigned nr_shapes; /* 0: the usual mix */
	uint64_t turns;     /* loop iterations of one run of a path */
};
#define JP_PLAN(...)                                                                               \
	{                                                                                          \
		.programs = 1, .threads = 1, .depth = 8, .turns = 700000, __VA_ARGS__              \
	}
/* Returns all command-line options of the struct jp_plan @plan. */
const struct jp_option *jp_plan_options(void *plan);
/* Returns the options about paths only. */
const struct jp_option *jp_path_options(void *plan);

/* Maps an arena, emits functions into it and makes paths of them. Returns 0 or -errno. */
int jp_program_make(struct jp_program *program, const struct jp_plan *plan);
/* The functions below are the parts of jp_program_make(), in the order of calls, for an arena that
 * the caller protects. Each returns 0 or -errno. */

/* Returns the most bytes of code that a program has in any variant. */
size_t jp_program_code_size(void);
/* Writes the functions to program->arena, which is set up. @variant selects the number of functions
 * of each shape and their order. */
int jp_program_write(struct jp_program *program, unsigned variant);
/* Records and publishes the functions. */
int jp_program_load(struct jp_program *program);
/* Makes the paths of @plan through the functions. */
int jp_program_make_paths(struct jp_program *program, const struct jp_plan *plan);
/* Records that an operation within [@before, @after] (ns) moved the program's code to @to, and
 * adjusts its paths. No thread may run the code. Returns 0 or -errno. */
int jp_program_record_move(struct jp_program *program, uint64_t to, uint64_t before,
			   uint64_t after);
/* Records that an operation within [@before, @after] (ns) removed the program's code. Frees
 * everything but the arena. */
void jp_program_unload(struct jp_program *program, uint64_t before, uint64_t after);

/* Moves the code to another address by mremap(). No thread may run it. Returns 0 or -errno. */
int jp_program_move(struct jp_program *program);
/* Unmaps the code and frees the program. No thread may run it. */
void jp_program_end(struct jp_program *program);

/*
 * Runs programs of @plan until the handshake ends. Returns the exit status. Steps:
 *	map	makes a program and a thread that runs it
 *	unmap	stops the threads of the oldest program and unmaps it
 *	remap	stops its threads, moves it and starts as many threads again
 *	thread	starts one more thread in the oldest program
 *	exec	the process starts again with new code; ARG is an additional option
 */
int jp_plan_run(const char *workload, const struct jp_plan *plan);
