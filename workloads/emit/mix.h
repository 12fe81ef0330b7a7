/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/object.h"

/*
 * Paths that mix emitted functions with functions of a library. A spelling has one letter for each
 * function, outermost first: small for emitted code, capital for the library.
 *	f fp  n no_fp  l long  g large  r realign  e leaf
 *	c clock  h huge  u hollow  o other_bp  t tail  p stub  m misled  s syscall
 */
enum { JP_MIX_FUNCTIONS = 64, JP_MIX_PATHS = 32 };
struct jp_mix {
	struct jp_arena arena;
	struct jp_function functions[JP_MIX_FUNCTIONS];
	unsigned nr_functions;
	struct jp_object object;
	struct jp_loaded library; /* the library; loaded.handle NULL: none */
	struct jp_path paths[JP_MIX_PATHS];
	unsigned nr_paths;
};

/* Maps the arena. Returns 0 or -errno. */
int jp_mix_open(struct jp_mix *mix);
/* Writes a library of @kind to our folder and loads it. Returns 0 or -errno. */
int jp_mix_add_library(struct jp_mix *mix, const struct jp_object_kind *kind);
/* Calls jp_mix_open() and jp_mix_add_library(). Returns 0 or -errno. */
int jp_mix_open_with_library(struct jp_mix *mix, const struct jp_object_kind *kind);
/* Emits another function. @word: its data word, if the shape has one. Returns 0 or -errno. */
int jp_mix_emit(struct jp_mix *mix, enum jp_shape shape, uint64_t word,
		const struct jp_function **function);
/* Makes a path from @spelling. Emitted functions with a word get @word. @innermost: a further
 * function, neither emitted nor of the library, at the inner end; NULL: none. Returns 0 or -errno;
 * -EINVAL: an unknown letter, or a shape that the library lacks. */
int jp_mix_path(struct jp_mix *mix, const char *spelling, uint64_t word, uint64_t turns,
		const struct jp_function *innermost);
/* Makes a path of the usual length from each of @spellings, a list that a NULL ends. Returns 0 or
 * -errno. */
int jp_mix_paths(struct jp_mix *mix, const char *const *spellings, uint64_t word);
/* Starts a thread that runs the paths in the order of @next (NULL: in turn) until the handshake
 * ends, then frees the mix. @failed: -errno of an earlier step, or 0. Returns the exit status. */
int jp_mix_run(const char *workload, struct jp_mix *mix, jp_path_next next, int failed);
/* Makes a mix with a library of @kind and runs the paths @spellings. Returns the exit status. */
int jp_mix_run_paths(const char *workload, const struct jp_object_kind *kind,
		     const char *const *spellings);
