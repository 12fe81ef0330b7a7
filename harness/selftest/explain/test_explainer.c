// SPDX-License-Identifier: GPL-2.0-only
/* Tests that explainers blame counted ends, with more than 2^32 samples. */
#include "harness/explain/explainer.h"
#include "harness/selftest/support/check.h"

#define MANY (UINT64_C(3) << 32)

static struct jp_image image = {
	.pid = 7, .process = "some", .program = "/bin/some", .files = true, .samples = MANY};

/* Returns the only blame of explainer @which for @end. */
static struct jp_blame find_blame(const char *which, struct jp_end end)
{
	const struct jp_explainer *explainer = jp_registry_find(JP_EXPLAINER, which);
	struct jp_ends ends = {.list = &end, .count = 1};
	struct jp_blames blames = {0};
	struct jp_explain_view view = {.path = "perf.data", .ends = &ends, .blames = &blames};
	struct jp_blame found = {.cause = NULL};
	struct jp_error err = {""};

	if (explainer && !explainer->end(&view, &err) && blames.count == 1)
		found = *blames.list[0];
	jp_blames_free(&blames);
	return found;
}

static bool has_cause(const struct jp_blame *blame, const char *id)
{
	return blame->cause && !strcmp(blame->cause->id, id);
}

TEST(explainer)
{
	const struct jp_end full = {.image = &image,
				    .kind = JP_END_FULL,
				    .code = JP_CODE_FILE,
				    .file = "/lib/some.so",
				    .samples = MANY};
	struct jp_end single = {.image = &image,
				.kind = JP_END_SINGLE,
				.code = JP_CODE_EMITTED,
				.file = "//anon",
				.samples = MANY};
	struct jp_blame found = find_blame("limits", full);

	check(has_cause(&found, "depth-limit") && found.stacks == MANY,
	      "full stacks are blamed on the depth limit");
	found = find_blame("frame-pointer", single);
	check(has_cause(&found, "jit-no-frame-pointer") && found.samples == MANY,
	      "ends in emitted code are blamed on the JIT");
	single.code = JP_CODE_FILE;
	single.file = "/lib/some.so";
	found = find_blame("frame-pointer", single);
	check(has_cause(&found, "library-no-frame-pointer") && found.samples == MANY,
	      "ends in a file are blamed on the library");
}
