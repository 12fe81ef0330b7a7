// SPDX-License-Identifier: GPL-2.0-only
/* Emitted code calls a library that was built without frame pointers, and the library calls emitted
 * code, like closures and callbacks of libffi. The library's call frame information is right,
 * missing, or wrong as in hand-written assembly. */
#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

/* Content of the word that wrong call frame information presents as the return address. */
enum hole_word { ZERO, DATA, STALE };

static const char *const holes[] = {"fNlNe", "fOfNfe", "lNnOfe", "fFlLfO", "nOlNOfNf", NULL};
static const char *const misled[] = {"fMfe", "fMlMfe", "lMnMf", "fFlMNf", "nMrFM", NULL};

/* Stores in *@word a plausible but wrong return address: of a call in a function of no path. */
static int make_stale_word(struct jp_mix *mix, uint64_t *word)
{
	const struct jp_function *function;
	int ret = jp_mix_emit(mix, JP_SHAPE_LARGE, 0, &function);

	if (!ret)
		*word = function->code + jp_shape_returns(JP_SHAPE_LARGE);
	return ret;
}

enum { RIGHT, PARTLY, NONE, WRONG };
static const char *const cfis[] = {"right", "partly", "none", "wrong", NULL};
static const char *const words[] = {"zero", "data", "stale", NULL};
static unsigned cfi, word;

static int run(int argc, char **argv)
{
	static struct jp_mix mix;
	struct jp_object_kind kind = {.shapes = {JP_SHAPE_NO_FP, JP_SHAPE_OTHER_BP, JP_SHAPE_FP,
						 JP_SHAPE_LONG, JP_SHAPE_MISLED, JP_SHAPE_NO_FP,
						 JP_SHAPE_MISLED, JP_SHAPE_LEAF}};
	const char *const *paths = holes;
	static const enum jp_object_frames frames[] = {JP_FRAMES_ALL, JP_FRAMES_LAST,
						       JP_FRAMES_NONE};
	int ret;

	if (cfi == WRONG)
		paths = misled;
	else
		kind.frames = frames[cfi];
	if (word == DATA)
		kind.word = 0x5ca1ab1e;
	ret = jp_mix_open(&mix);
	if (!ret && word == STALE)
		ret = make_stale_word(&mix, &kind.word);
	if (!ret)
		ret = jp_mix_add_library(&mix, &kind) ?: jp_mix_paths(&mix, paths, 0);
	return jp_mix_run(argv[0], &mix, NULL, ret);
}

static const struct jp_option options[] = {
	{"--cfi", .value = "HOW", .number = &cfi, .words = cfis,
	 .help = "the library's call frame information: right, partly (of one of its functions), "
		 "none, wrong (right)"},
	{"--word", .value = "WHAT", .number = &word, .words = words,
	 .help = "the return address in wrong information: zero, data, or a stale "
		 "address "
		 "(zero)"},
	{0}};

JP_DEFINE(workload, native_holes) = {
	.name = "native_holes",
	.help = "emitted code and a library without frame pointers call each other",
	.options = options,
	.run = run,
};
