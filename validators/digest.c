// SPDX-License-Identifier: GPL-2.0-only
#include "validators/digest.h"

#include "harness/base/digest.h"

static uint64_t digest_attributes(const struct jp_event_asked *requested)
{
	const uint64_t words[] = {
		requested->regs,  requested->stack,  requested->max_stack,  requested->period,
		requested->clock, requested->chain,  requested->user_chain, requested->kernel_chain,
		requested->user,  requested->kernel, requested->timed,      requested->inherit,
	};

	return jp_digest_bytes(0, words, sizeof(words));
}

uint64_t jp_sample_digest(const struct jp_event *event)
{
	const uint64_t words[] = {
		event->asked ? digest_attributes(event->asked) : 0,
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
	uint64_t digest = jp_digest_bytes(0, words, sizeof(words));

	if (event->sample.chain)
		digest = jp_digest_bytes(digest, event->sample.chain,
					 event->sample.nr_chain * sizeof(uint64_t));
	for (int i = 0; regs && i < JP_REGS; i++)
		if (regs->mask >> i & 1)
			digest = jp_digest_bytes(digest, &regs->r[i], sizeof(regs->r[i]));
	return jp_digest_bytes(digest, event->sample.stack ?: (const void *)"",
			       event->sample.stack ? event->sample.stack_size : 0);
}
