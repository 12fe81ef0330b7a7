// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/event.h"

uint64_t jp_event_user_chain(const struct jp_event *event, const uint64_t **user)
{
	const uint64_t *chain = event->sample.chain;

	if (event->sample.deferred) {
		*user = event->sample.deferred;
		return event->sample.nr_deferred;
	}
	/* Stop at the first marker: an equal value after it is garbage from the user stack. */
	for (uint64_t i = 0; chain && i < event->sample.nr_chain; i++) {
		/* The kernel unwinds the user part later (since 6.19): a cookie follows the marker,
		 * and no address. */
		if (chain[i] == JP_CONTEXT_USER_DEFERRED)
			break;
		if (chain[i] != JP_CONTEXT_USER)
			continue;
		*user = chain + i + 1;
		return event->sample.nr_chain - i - 1;
	}
	*user = NULL;
	return 0;
}
