// SPDX-License-Identifier: GPL-2.0-only
/*
 * Emitted code calls a library that was built without frame pointers, and the library calls emitted
 * code: what libffi's closures and callbacks look like. What is said of the library's frames is
 * right, is missing, or is wrong as hand-written assembly has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/mix.h"
#include "workloads/workload.h"

/* In a function that forgets its frame, the word that is taken for the return address. */
enum word { ZERO, DATA, STALE };

static const char *const holes[] = {"fNlNe", "fOfNfe", "lNnOfe", "fFlLfO", "nOlNOfNf", NULL};
static const char *const misled[] = {"fMfe", "fMlMfe", "lMnMf", "fFlMNf", "nMrFM", NULL};

/* What a function that is in none of the paths would be returned to. */
static int stale_word(struct jp_mix *mix, uint64_t *word)
{
	const struct jp_function *function;
	int ret = jp_mix_emit(mix, JP_SHAPE_LARGE, 0, &function);

	if (!ret)
		*word = function->code + jp_shape_returns(JP_SHAPE_LARGE);
	return ret;
}

static int run(int argc, char **argv)
{
	static struct jp_mix mix;
	struct jp_object_kind kind = {.shapes = {JP_SHAPE_NO_FP, JP_SHAPE_OTHER_BP, JP_SHAPE_FP,
						 JP_SHAPE_LONG, JP_SHAPE_MISLED, JP_SHAPE_NO_FP,
						 JP_SHAPE_MISLED, JP_SHAPE_LEAF}};
	const char *const *paths = holes;
	enum word word = ZERO;
	int ret;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--cfi=right"))
			kind.frames = JP_FRAMES_ALL;
		else if (!strcmp(argv[i], "--cfi=partly"))
			kind.frames = JP_FRAMES_LAST;
		else if (!strcmp(argv[i], "--cfi=none"))
			kind.frames = JP_FRAMES_NONE;
		else if (!strcmp(argv[i], "--cfi=wrong"))
			paths = misled;
		else if (!strcmp(argv[i], "--word=zero"))
			word = ZERO;
		else if (!strcmp(argv[i], "--word=data"))
			word = DATA;
		else if (!strcmp(argv[i], "--word=stale"))
			word = STALE;
		else {
			fprintf(stderr, "jitproof workload %s: unknown option '%s' (see --help)\n",
				argv[0], argv[i]);
			return 2;
		}
	}
	if (word == DATA)
		kind.word = 0x5ca1ab1e;
	ret = jp_mix_open(&mix);
	if (!ret && word == STALE)
		ret = stale_word(&mix, &kind.word);
	if (!ret)
		ret = jp_mix_library(&mix, &kind, NULL);
	if (!ret)
		ret = jp_mix_paths(&mix, paths, 0);
	return jp_mix_run(argv[0], &mix, ret);
}

static const struct jp_workload native_holes = {
	.name = "native_holes",
	.help = "emitted code and a library without frame pointers call each other",
	.options = "  --cfi=HOW        call frame information of the library: right, partly (of "
		   "one of\n"
		   "                   its functions), none, wrong (right)\n"
		   "  --word=WHAT      where it is wrong, it takes for a return address: zero, "
		   "data, or\n"
		   "                   a stale one (zero)\n",
	.run = run,
};
JP_REGISTER(workload, native_holes);
