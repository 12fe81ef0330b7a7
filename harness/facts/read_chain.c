// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/read_chain.h"

bool jp_chain_open(struct jp_watch *watch, const void *addr, struct jp_answer *answer)
{
	struct perf_event_attr attr = jp_watch_breakpoint(addr);

	return jp_watch_open(watch, &attr, JP_WATCH_PAGES, answer);
}

bool jp_chain_next(struct jp_watch *watch, struct jp_event *sample, struct jp_answer *answer)
{
	while (jp_watch_next(watch, sample))
		if (sample->type == JP_EVENT_SAMPLE)
			return true;
	jp_answer_missing(answer, "a sample");
	return false;
}

void jp_answer_chain_length(struct jp_answer *answer, struct jp_watch *watch)
{
	struct jp_event event;
	uint64_t length = 0;

	if (!jp_chain_next(watch, &event, answer))
		return;
	for (size_t i = 0; i < event.sample.nr_chain; i++)
		length += event.sample.chain[i] < JP_CHAIN_MARKER;
	jp_answer_number(answer, length);
}

void jp_answer_chain(struct jp_answer *answer, struct jp_watch *watch)
{
	/* The linker defines these: the limits of this program's code. */
	extern const char __executable_start[], etext[];
	struct jp_event event;

	if (!jp_chain_next(watch, &event, answer))
		return;
	jp_answer_list(answer);
	for (size_t i = 0; i < event.sample.nr_chain; i++) {
		uint64_t addr = event.sample.chain[i];
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
