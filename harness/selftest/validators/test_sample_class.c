// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every sample is in exactly one class: for each combination of facts, exactly one of the class
 * definitions repeated below must hold, and the function under test must return that class.
 */
#include "harness/selftest/support/check.h"
#include "validators/sample_class.h"

static bool is_in_class(enum jp_sample_class class, const struct jp_sample_facts *facts)
{
	bool code = facts->code, live = !code && facts->in_window;
	bool foreign = live && facts->where == JP_IN_OTHERS;
	bool ours = live && !foreign && facts->watched;
	/* A living thread inside a path always has a user part. */
	bool blind = facts->kernel && !facts->user_part;
	bool bare = blind && !(facts->where == JP_INSIDE && !facts->ended);

	switch (class) {
	case JP_SAMPLE_CODE:
		return code;
	case JP_SAMPLE_OUTSIDE:
		return !code && !facts->in_window;
	case JP_SAMPLE_ASTRAY:
		return foreign || (ours && !bare && facts->where == JP_INSIDE);
	case JP_SAMPLE_EDGE:
		return ours && !bare && facts->where == JP_IN_EDGE;
	case JP_SAMPLE_BELOW:
		return ours && !bare && facts->where == JP_IN_HANDLER;
	case JP_SAMPLE_KERNEL:
		return ours && bare;
	case JP_SAMPLE_NATIVE:
		return ours && !bare && facts->where == JP_IN_NONE;
	case JP_SAMPLE_UNWATCHED:
		return live && !foreign && !facts->watched;
	default:
		return false;
	}
}

static void test_waits(void)
{
	const struct jp_event acts[] = {{.type = JP_EVENT_EXEC}, {.type = JP_EVENT_WAIT},
					{.type = JP_EVENT_MAP},  {.type = JP_EVENT_MAP},
					{.type = JP_EVENT_WAIT}, {.type = JP_EVENT_END}};
	struct jp_truth truth = {.acts = (struct jp_event *)acts, .nr_acts = 6};
	const struct jp_evidence evidence = {.truth = &truth};
	struct jp_sample_facts_of of = {0};

	check(!jp_sample_facts_begin(&of, &evidence) && of.nr_waits == 2 &&
		      of.waits[0] == &acts[1] && of.waits[1] == &acts[4],
	      "the two waiting handlers are found: %zu", of.nr_waits);
	jp_sample_facts_end(&of);
}

int main(void)
{
	unsigned given[JP_SAMPLE_CLASSES] = {0};
	bool good = true;

	for (unsigned bits = 0; bits < 1 << 6; bits++) {
		for (enum jp_sample_where where = 0; where <= JP_IN_OTHERS; where++) {
			struct jp_sample_facts facts = {
				.code = bits & 1,
				.in_window = bits & 2,
				.watched = bits & 4,
				.user_part = bits & 8,
				.kernel = bits & 16,
				.ended = bits & 32,
				.where = where,
			};
			enum jp_sample_class class = jp_sample_class_of(&facts);
			int holds = 0;

			given[class]++;
			for (enum jp_sample_class other = 0; other < JP_SAMPLE_CLASSES; other++)
				holds += is_in_class(other, &facts);
			if (holds == 1 && is_in_class(class, &facts))
				continue;
			good = false;
			printf("# facts %x, where %d: %s, while %d classes hold\n", bits, where,
			       jp_sample_class_text(class), holds);
		}
	}
	check(good, "each combination of facts is in exactly one class");
	good = true;
	for (enum jp_sample_class class = 0; class < JP_SAMPLE_CLASSES; class ++)
		good &= given[class] > 0;
	check(good, "each class occurs");
	test_waits();
	return check_done();
}
