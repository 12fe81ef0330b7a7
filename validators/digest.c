// SPDX-License-Identifier: GPL-2.0-only
#include "validators/digest.h"

#include <string.h>

static uint64_t mix(uint64_t digest, uint64_t value)
{
	digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return digest ^ digest >> 29;
}

uint64_t jp_digest(uint64_t digest, const void *bytes, size_t size)
{
	uint64_t word = 0;
	size_t at = 0;

	for (; at + sizeof(word) <= size; at += sizeof(word)) {
		memcpy(&word, (const char *)bytes + at, sizeof(word));
		digest = mix(digest, word);
	}
	word = 0;
	if (size > at)
		memcpy(&word, (const char *)bytes + at, size - at);
	return mix(mix(digest, word), size);
}

/* What the event was asked for. */
static uint64_t asked_digest(const struct jp_event_asked *asked)
{
	const uint64_t words[] = {
		asked->regs,  asked->stack,  asked->max_stack,  asked->period,
		asked->clock, asked->chain,  asked->user_chain, asked->kernel_chain,
		asked->user,  asked->kernel, asked->timed,      asked->inherit,
	};

	return jp_digest(0, words, sizeof(words));
}

uint64_t jp_sample_digest(const struct jp_event *event)
{
	const uint64_t words[] = {
		event->asked ? asked_digest(event->asked) : 0,
		event->id,
		event->misc,
		event->time,
		event->pid,
		event->tid,
		event->cpu,
		event->sample.ip,
		event->sample.period,
		event->sample.regs_abi,
		event->sample.stack_asked,
	};
	const struct jp_regs *regs = event->sample.regs;
	uint64_t digest = jp_digest(0, words, sizeof(words));

	if (event->sample.chain)
		digest = jp_digest(digest, event->sample.chain,
				   event->sample.nr_chain * sizeof(uint64_t));
	for (int i = 0; regs && i < JP_REGS; i++)
		if (regs->known >> i & 1)
			digest = mix(digest, regs->r[i]);
	return jp_digest(digest, event->sample.stack ?: (const void *)"",
			 event->sample.stack ? event->sample.stack_size : 0);
}
