/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/object.h"

/*
 * Emitted code and code of a library, mixed on the same paths. A path is spelt, outermost first, a
 * letter for each function: small for emitted, large for one of the library.
 *	f fp  n no_fp  l long  g large  r realign  e leaf
 *	c clock  h huge  u hollow  o other_bp  t tail  p stub  m misled  s syscall
 */
enum { JP_MIX_FUNCTIONS = 64, JP_MIX_PATHS = 32 };
struct jp_mix {
	struct jp_arena arena;
	struct jp_function functions[JP_MIX_FUNCTIONS];
	unsigned nr_functions;
	struct jp_object object;
	struct jp_loaded loaded; /* no handle: there is none */
	struct jp_path paths[JP_MIX_PATHS];
	unsigned nr_paths;
};

/* 0 or -errno. */
int jp_mix_open(struct jp_mix *mix);
/* Makes and loads the library, in our own folder. 0 or -errno. */
int jp_mix_library(struct jp_mix *mix, const struct jp_object_kind *kind);
/* Both. */
int jp_mix_make(struct jp_mix *mix, const struct jp_object_kind *kind);
/* One more emitted function, with its word where its shape has one. 0 or -errno. */
int jp_mix_emit(struct jp_mix *mix, enum jp_shape shape, uint64_t word,
		const struct jp_function **function);
/* A path of functions of these shapes; emitted ones that have a word have @word. -EINVAL: a letter
 * that is none, or of what the library has not. */
int jp_mix_path(struct jp_mix *mix, const char *spelling, uint64_t word, uint64_t turns);
/* The same, with @innermost, which is neither, at its inner end. */
int jp_mix_path_to(struct jp_mix *mix, const char *spelling, uint64_t word, uint64_t turns,
		   const struct jp_function *innermost);
/* The same, of each of @spellings; a NULL ends them. */
int jp_mix_paths(struct jp_mix *mix, const char *const *spellings, uint64_t word);
/* Threads run the paths until told to stop; then all is freed. @failed: of what was before. Returns
 * the exit status. */
int jp_mix_run(const char *workload, struct jp_mix *mix, int failed);
/* All of it: a mix with a library of @kind, in which threads run paths of @spellings. */
int jp_mix_run_paths(const char *workload, const struct jp_object_kind *kind,
		     const char *const *spellings);
/* As jp_mix_run(), in the order that @next says. */
int jp_mix_run_by(const char *workload, struct jp_mix *mix, jp_path_next next, void *context,
		  int failed);
