// SPDX-License-Identifier: GPL-2.0-only
/* Facts about deferred user callchains, which the kernel walks on its way back to user space. */
#include "harness/facts/read_chain.h"

enum { MOST_ADDRESSES = 8 };

/* Contents of a sample and of the later record with its deferred callchain. */
struct both {
	bool has_sample, has_deferred;
	/* The sample's chain ends with a cookie, which the later record repeats. */
	bool with_cookie;
	uint64_t last_cookie; /* the cookie, which is the last entry of the sample's chain */
	uint64_t cookie, count, ips[MOST_ADDRESSES];
};

static bool open_deferred(struct jp_watch *watch, const void *addr, bool output,
			  struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_breakpoint(addr);

	jp_attr_set_bit(&attr, JP_ATTR_DEFER_CALLCHAIN);
	if (output)
		jp_attr_set_bit(&attr, JP_ATTR_DEFER_OUTPUT);
	return jp_watch_open(watch, &attr, 16, answer);
}

static void copy_sample(struct both *pair, const struct jp_event *event)
{
	const uint64_t *chain = event->sample.chain, count = event->sample.nr_chain;

	pair->has_sample = true;
	pair->with_cookie = count >= 2 && chain[count - 2] == JP_CONTEXT_USER_DEFERRED;
	pair->last_cookie = count ? chain[count - 1] : 0;
}

/* Reads a sample and its deferred callchain. Returns false if there is no record with the
 * callchain. */
static bool read_sample_and_chain(struct jp_answer *answer, struct jp_watch *watch,
				  struct both *pair)
{
	struct jp_event event;

	*pair = (struct both){0};
	while (jp_watch_next(watch, &event)) {
		if (event.type == JP_EVENT_SAMPLE)
			copy_sample(pair, &event);
		if (event.type != JP_EVENT_DEFERRED)
			continue;
		pair->has_deferred = true;
		pair->cookie = event.deferred.cookie;
		pair->count = event.deferred.count;
		for (size_t i = 0; i < MOST_ADDRESSES && i < pair->count; i++)
			pair->ips[i] = event.deferred.ips[i];
	}
	if (!pair->has_sample)
		jp_answer_missing(answer, "a sample");
	return pair->has_deferred;
}

/* States the names of the functions in the deferred callchain, up to the caller of
 * jp_code_outer(). */
static void answer_names(struct jp_answer *answer, const struct both *pair)
{
	for (size_t i = 0; i < pair->count && i < MOST_ADDRESSES; i++) {
		const char *name = jp_code_name(pair->ips[i]);

		jp_answer_text(answer, "%s", name ? name : "caller");
		if (!name)
			break;
	}
}

static void defer_leaf_body(struct jp_answer *answer)
{
	struct jp_watch watch;
	struct both pair;

	if (!open_deferred(&watch, jp_code_leaf_body, answer->parameter, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_leaf);
	jp_answer_list(answer);
	read_sample_and_chain(answer, &watch, &pair);
	jp_answer_text(answer, "%s", pair.with_cookie ? "a cookie" : "a chain");
	if (!pair.has_deferred) {
		jp_answer_text(answer, "no record");
		return;
	}
	jp_answer_text(answer, "%s",
		       pair.cookie == pair.last_cookie ? "the same cookie" : "another cookie");
	answer_names(answer, &pair);
}

static void answer_length(struct jp_answer *answer, struct jp_watch *watch)
{
	struct both pair;

	if (read_sample_and_chain(answer, watch, &pair))
		jp_answer_number(answer, pair.count);
	else
		jp_answer_text(answer, "no record");
}

static void defer_deep_chain(struct jp_answer *answer)
{
	struct jp_watch watch;
	uint64_t before;

	if (!open_deferred(&watch, jp_code_deep_body, true, answer))
		return;
	/* Subtract the callers of this function, which every chain of this program has. */
	jp_code_deep(300);
	answer_length(answer, &watch);
	before = answer->count ? answer->items[0].number : 0;
	answer->count = 0;
	jp_code_deep(0);
	answer_length(answer, &watch);
	if (answer->count && answer->items[0].is_number && before)
		answer->items[0].number = before - answer->items[0].number;
}

static void defer_cycle(struct jp_answer *answer)
{
	static uint64_t frame[2];
	struct jp_watch watch;

	frame[0] = (uint64_t)(uintptr_t)frame;
	frame[1] = 0x1234567;
	jp_code_frame = (uint64_t)(uintptr_t)frame;
	if (!open_deferred(&watch, jp_code_odd_body, true, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_odd);
	answer_length(answer, &watch);
}

static void defer_leaf_entry(struct jp_answer *answer)
{
	struct jp_watch watch;
	struct both pair;

	if (!open_deferred(&watch, (const void *)jp_code_leaf, true, answer))
		return;
	jp_code_outer(jp_code_middle, jp_code_leaf);
	jp_answer_list(answer);
	if (read_sample_and_chain(answer, &watch, &pair))
		answer_names(answer, &pair);
	else
		jp_answer_text(answer, "no record");
}

static const struct jp_fact facts[] = {
	{"deferred.leaf.body",
	 "Samples leaf's body with defer_callchain and defer_output; what the sample holds, "
	 "whether the deferred record has its cookie, and that record's chain.",
	 .probe = defer_leaf_body, .parameter = true},
	{"deferred.without_output",
	 "Samples leaf's body with defer_callchain, without defer_output; what the sample "
	 "holds, and the deferred record, if any.",
	 .probe = defer_leaf_body, .parameter = false},
	{"deferred.deep", "Adds 300 callers; by how many addresses the deferred chain grows.",
	 .probe = defer_deep_chain},
	{"deferred.frame.cycle",
	 "The frame pointer leads to a frame that links to itself; addresses in the deferred "
	 "chain.",
	 .probe = defer_cycle},
	{"deferred.leaf.entry", "Samples leaf's first instruction (push %rbp); the deferred chain.",
	 .probe = defer_leaf_entry},
};
JP_REGISTER_ROWS(fact, facts);
