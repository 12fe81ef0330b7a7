// SPDX-License-Identifier: GPL-2.0-only
/* Code that uses the frame pointer's register for other data, as code built without frame pointers
 * does. The kernel's frame-pointer rule then reads nothing, a cycle, a chain that leads downwards,
 * or data. */
#include <errno.h>
#include <string.h>

#include "workloads/emit/mix.h"
#include "workloads/emit/workload.h"

/* Fake frames for bp: {next, "return address"} each. */
static uint64_t cycle[2][2], down[4][2], data[16];

static void fill_frames(void)
{
	for (int i = 0; i < 2; i++) {
		cycle[i][0] = (uintptr_t)cycle[!i];
		cycle[i][1] = (uintptr_t)fill_frames + i; /* looks like a return address */
	}
	for (int i = 0; i < 4; i++) {
		down[i][0] = i ? (uintptr_t)down[i - 1] : 0;
		down[i][1] = (uintptr_t)fill_frames + 16 + i;
	}
	for (int i = 0; i < 16; i++)
		data[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
}

static const struct word {
	const char *name;
	uint64_t value; /* used if @at is NULL */
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

/* Marks the word @text in the option's array, whose last element stands for the library. */
static int select_word(const struct jp_option *option, const char *text, struct jp_error *err)
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

	fill_frames();
	ret = jp_mix_make(&mix, &kind);
	for (int n = 0; n < WORDS && !ret; n++)
		if (all || wanted[n])
			ret = make_paths(&mix, &words[n]);
	if (!ret && (all || wanted[WORDS]))
		ret = jp_mix_paths(&mix, native, 0);
	return jp_mix_run(argv[0], &mix, NULL, ret);
}

static const struct jp_option options[] = {
	{"--bp", .take = select_word, .context = wanted,
	 .help = "zero, number, wild (no valid address), cycle, down, data, or library (its code "
		 "misuses bp); may be repeated (all of them)"},
	{0}};

static const struct jp_workload bad_chain = {
	.name = "bad_chain",
	.help = "bp is no frame pointer: zero, a number, a cycle, downwards, data",
	.options = options,
	.run = run,
};
JP_REGISTER(workload, bad_chain);
