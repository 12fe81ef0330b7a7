// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/read_chain.h"

bool jp_chain_next(struct jp_watch *watch, struct jp_event *sample, struct jp_answer *answer)
{
	while (jp_watch_next(watch, sample))
		if (sample->type == JP_EVENT_SAMPLE)
			return true;
	jp_answer_missing(answer, "a sample");
	return false;
}

void jp_chain_tell_length(struct jp_answer *answer, struct jp_watch *watch)
{
	struct jp_event event;
	uint64_t length = 0;

	if (!jp_chain_next(watch, &event, answer))
		return;
	for (size_t i = 0; i < event.sample.nr_chain; i++)
		length += event.sample.chain[i] < JP_CHAIN_MARKER;
	jp_answer_number(answer, length);
}

void jp_chain_tell(struct jp_answer *answer, const struct jp_event *sample)
{
	/* The linker's. */
	extern const char __executable_start[], etext[];

	jp_answer_list(answer);
	for (size_t i = 0; i < sample->sample.nr_chain; i++) {
		uint64_t addr = sample->sample.chain[i];
		const char *name = jp_code_name(addr);

		if (addr >= JP_CHAIN_MARKER)
			continue;
		if (!name && addr >= (uint64_t)(uintptr_t)__executable_start &&
		    addr < (uint64_t)(uintptr_t)etext) {
			jp_answer_text(answer, "caller");
			return;
		}
		jp_answer_text(answer, "%s", name ? name : "elsewhere");
	}
}

void jp_chain_tell_next(struct jp_answer *answer, struct jp_watch *watch)
{
	struct jp_event sample;

	if (jp_chain_next(watch, &sample, answer))
		jp_chain_tell(answer, &sample);
}

void jp_chain_at(struct jp_answer *answer, const void *addr, jp_code middle, jp_code leaf)
{
	struct perf_event_attr attr = jp_watch_breakpoint(addr);
	struct jp_watch watch;

	if (!jp_watch_open(&watch, &attr, 16, answer))
		return;
	jp_code_outer(middle, leaf);
	jp_chain_tell_next(answer, &watch);
}
