// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that uses the frame pointer's register for something else, as much code does that was built
 * without frame pointers: what the kernel's rule then reads may be nothing, may lead round for
 * ever, downwards, or through data.
 */
#include <errno.h>
#include <string.h>

#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

/* {next, "return address"} each: what bp points to. */
static uint64_t cycle[2][2], down[4][2], data[16];

static void lay_out(void)
{
	for (int i = 0; i < 2; i++) {
		cycle[i][0] = (uintptr_t)cycle[!i];
		cycle[i][1] = (uintptr_t)lay_out + i; /* looks like a caller */
	}
	for (int i = 0; i < 4; i++) {
		down[i][0] = i ? (uintptr_t)down[i - 1] : 0;
		down[i][1] = (uintptr_t)lay_out + 16 + i;
	}
	for (int i = 0; i < 16; i++)
		data[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
}

static const struct word {
	const char *name;
	uint64_t value; /* unless @at */
	const void *at;
} words[] = {
	{"zero", 0, NULL},   {"number", 40961, NULL}, {"wild", 0xdeadbeefcafebabe, NULL},
	{"cycle", 0, cycle}, {"down", 0, &down[3]},   {"data", 0, &data[2]},
};
enum { WORDS = sizeof(words) / sizeof(*words) };

static int make_paths(struct jp_mix *mix, const struct word *word)
{
	static const char *const paths[] = {"fofe", "loN", "fFono", NULL};

	return jp_mix_paths(mix, paths, word->at ? (uintptr_t)word->at : word->value);
}

/* One more of those that are wanted; the last is the library's. */
static int take_word(const struct jp_option *option, const char *text, struct jp_error *err)
{
	bool *marked = option->context;
	int n = 0;

	while (n < WORDS && strcmp(text, words[n].name))
		n++;
	if (n == WORDS && strcmp(text, "library"))
		return jp_fail(err, EINVAL, "--bp=%s: no such word (see --help)", text);
	marked[n] = true;
	return 0;
}

static bool wanted[WORDS + 1];

static int run(int argc, char **argv)
{
	static const struct jp_object_kind kind = {
		.shapes = {JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_OTHER_BP, JP_SHAPE_LONG,
			   JP_SHAPE_FP, JP_SHAPE_NO_FP, JP_SHAPE_OTHER_BP, JP_SHAPE_LEAF},
		.word = 0x1000};
	static const char *const native[] = {"fOfe", "OlONfO", NULL};
	static struct jp_mix mix;
	int ret, all = !memchr(wanted, true, sizeof(wanted));

	lay_out();
	ret = jp_mix_make(&mix, &kind);
	for (int n = 0; n < WORDS && !ret; n++)
		if (all || wanted[n])
			ret = make_paths(&mix, &words[n]);
	if (!ret && (all || wanted[WORDS]))
		ret = jp_mix_paths(&mix, native, 0);
	return jp_mix_run(argv[0], &mix, ret);
}

static const struct jp_option options[] = {
	{"--bp", .take = take_word, .context = wanted,
	 .help = "zero, number, wild (no address at all), cycle, down, data, or library: its code "
		 "does it; may be repeated (all of them)"},
	{0}};

static const struct jp_workload bad_chain = {
	.name = "bad_chain",
	.help = "bp is no frame pointer: zero, a number, round, downwards, data",
	.options = options,
	.run = run,
};
JP_REGISTER(workload, bad_chain);
