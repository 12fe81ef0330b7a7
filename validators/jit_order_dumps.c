// SPDX-License-Identifier: GPL-2.0-only
/* Jitdumps: reports their own contradictions with the truth. */
#include <inttypes.h>

#include "validators/jit_order_dumps.h"

static int except_strays(struct jp_jit_order *order, const struct jp_strays *strays,
			 const char *cause, const char *why)
{
	const struct jp_code_load *stray = strays->first;
	int failed = 0;

	for (uint64_t i = 0; !failed && i < strays->count; i++)
		failed = jp_findings_except(order->findings, "order.stray", cause,
					    "%.100s of pid %u at %" PRIx64 ", %" PRIu64
					    " bytes, loaded at %" PRIu64
					    ", in the dump of pid %u: %s",
					    stray->name, stray->pid, stray->addr, stray->size,
					    stray->time, stray->owner, why);
	return failed;
}

int jp_jit_order_dumps(struct jp_jit_order *order)
{
	int failed = except_strays(order, &order->incarnations.stray, "no-code",
				   "the truth has no such code")
			     ?: except_strays(order, &order->incarnations.misplaced, "wrong-owner",
					      "it is another process's");

	for (uint64_t i = 0; !failed && i < order->loads.folder.bad; i++)
		failed = jp_findings_except(order->findings, "order.bad", "jitdump", "%.380s",
					    order->loads.folder.why.text);
	return failed;
}
