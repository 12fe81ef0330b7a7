// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/read_chain.h"

bool jp_chain_next(struct jp_watch *watch, struct jp_seen *seen, struct jp_answer *answer)
{
	while (jp_watch_next(watch, seen))
		if (seen->header.type == PERF_RECORD_SAMPLE)
			return true;
	jp_answer_missing(answer, "a sample");
	return false;
}

/* The end of the chain in words, whatever a broken record says. */
static size_t chain_end(const struct jp_seen *seen)
{
	size_t words = (seen->header.size - sizeof(seen->header)) / sizeof(uint64_t);
	uint64_t count = seen->words[JP_CHAIN];

	if (words <= JP_CHAIN + 1)
		return JP_CHAIN + 1;
	return count < words - JP_CHAIN - 1 ? JP_CHAIN + 1 + (size_t)count : words;
}

void jp_chain_tell_length(struct jp_answer *answer, struct jp_watch *watch)
{
	static struct jp_seen seen;
	uint64_t length = 0;

	if (!jp_chain_next(watch, &seen, answer))
		return;
	for (size_t i = JP_CHAIN + 1; i < chain_end(&seen); i++)
		length += seen.words[i] < JP_CHAIN_MARKER;
	jp_answer_number(answer, length);
}

void jp_chain_tell(struct jp_answer *answer, const struct jp_seen *seen)
{
	/* The linker's. */
	extern const char __executable_start[], etext[];

	jp_answer_list(answer);
	for (size_t i = JP_CHAIN + 1; i < chain_end(seen); i++) {
		uint64_t addr = seen->words[i];
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
	static struct jp_seen seen;

	if (jp_chain_next(watch, &seen, answer))
		jp_chain_tell(answer, &seen);
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
