// SPDX-License-Identifier: GPL-2.0-only
/* User chains that are walked on the way back to user space. */
#include "harness/facts/read_chain.h"

#include "harness/facts/test_region.h"

enum { CALLCHAIN_DEFERRED = 22 };
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)

static bool open_deferred(struct jp_watch *watch, const void *addr, bool output,
			  struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_breakpoint(addr);

	jp_attr_set(&attr, JP_ATTR_DEFER_CALLCHAIN);
	if (output)
		jp_attr_set(&attr, JP_ATTR_DEFER_OUTPUT);
	return jp_watch_open(watch, &attr, 16, answer);
}

/* The sample, and the record that brings its chain, where it comes. */
static bool both(struct jp_answer *answer, struct jp_watch *watch, struct jp_seen *sample,
		 struct jp_seen *chain)
{
	static struct jp_seen seen;
	bool sampled = false, brought = false;

	while (jp_watch_next(watch, &seen)) {
		if (seen.header.type == PERF_RECORD_SAMPLE) {
			*sample = seen;
			sampled = true;
		} else if (seen.header.type == CALLCHAIN_DEFERRED) {
			*chain = seen;
			brought = true;
		}
	}
	if (!sampled)
		jp_answer_missing(answer, "a sample");
	return brought;
}

static void tell_cookie(struct jp_answer *answer, const struct jp_seen *sample)
{
	const uint64_t *chain = &sample->words[JP_CHAIN + 1];
	uint64_t count = sample->words[JP_CHAIN];

	if (count >= 2 && chain[count - 2] == CONTEXT_USER_DEFERRED)
		jp_answer_text(answer, "a cookie");
	else
		jp_answer_text(answer, "a chain");
}

/* cookie, nr, ips: named as they are, up to outer. */
static void tell_chain(struct jp_answer *answer, const struct jp_seen *chain)
{
	for (uint64_t i = 0; i < chain->words[1] && i < 8; i++) {
		const char *name = jp_code_name(chain->words[2 + i]);

		jp_answer_text(answer, "%s", name ? name : "caller");
		if (!name)
			break;
	}
}

static void in_leaf(struct jp_answer *answer, bool output)
{
	static struct jp_seen sample, chain;
	struct jp_watch watch;

	if (!open_deferred(&watch, jp_code_leaf_body, output, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_leaf);
	jp_answer_list(answer);
	if (!both(answer, &watch, &sample, &chain)) {
		tell_cookie(answer, &sample);
		jp_answer_text(answer, "no record");
		return;
	}
	tell_cookie(answer, &sample);
	jp_answer_text(answer, "%s",
		       chain.words[0] == sample.words[JP_CHAIN + sample.words[JP_CHAIN]]
			       ? "the same cookie"
			       : "another cookie");
	tell_chain(answer, &chain);
}

static void with_output(struct jp_answer *answer)
{
	in_leaf(answer, true);
}

static void without_output(struct jp_answer *answer)
{
	in_leaf(answer, false);
}

static void tell_length(struct jp_answer *answer, struct jp_watch *watch)
{
	static struct jp_seen sample, chain;

	if (both(answer, watch, &sample, &chain))
		jp_answer_number(answer, chain.words[1]);
	else
		jp_answer_text(answer, "no record");
}

static void deep(struct jp_answer *answer)
{
	struct jp_watch watch;
	uint64_t before;

	if (!open_deferred(&watch, jp_code_deep_body, true, answer))
		return;
	/* Less what any chain of this program has below: the difference to one caller fewer. */
	jp_code_deep(300);
	tell_length(answer, &watch);
	before = answer->count ? answer->items[0].number : 0;
	answer->count = 0;
	jp_code_deep(0);
	tell_length(answer, &watch);
	if (answer->count && answer->items[0].is_number && before)
		answer->items[0].number = before - answer->items[0].number;
}

static void cycle(struct jp_answer *answer)
{
	static uint64_t frame[2];
	struct jp_watch watch;

	frame[0] = (uint64_t)(uintptr_t)frame;
	frame[1] = 0x1234567;
	jp_code_frame = (uint64_t)(uintptr_t)frame;
	if (!open_deferred(&watch, jp_code_odd_body, true, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_odd);
	tell_length(answer, &watch);
}

static void entry(struct jp_answer *answer)
{
	static struct jp_seen sample, chain;
	struct jp_watch watch;

	if (!open_deferred(&watch, (const void *)jp_code_leaf, true, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_leaf);
	jp_answer_list(answer);
	if (!both(answer, &watch, &sample, &chain)) {
		jp_answer_text(answer, "no record");
		return;
	}
	tell_chain(answer, &chain);
}

static const struct jp_fact facts[] = {
	{"deferred.leaf.body",
	 "A breakpoint in leaf's body with defer_callchain and defer_output: what the sample has, "
	 "whether the record has its cookie, and the record's chain.",
	 .probe = with_output},
	{"deferred.without_output", "The same with defer_callchain alone.",
	 .probe = without_output},
	{"deferred.deep", "How many addresses more a deferred chain has with 300 callers more.",
	 .probe = deep},
	{"deferred.frame.cycle",
	 "The frame pointer leads to a frame that links to itself; addresses in the deferred "
	 "chain.",
	 .probe = cycle},
	{"deferred.leaf.entry", "The deferred chain from leaf's first instruction (push %rbp).",
	 .probe = entry},
};
static const struct jp_fact_family deferred = {"deferred", facts, sizeof(facts) / sizeof(facts[0])};
JP_REGISTER(fact, deferred);
