// SPDX-License-Identifier: GPL-2.0-only
/* How explain counts: what was lost in a ring, by what its last records were, and which losses of
 * names a sample has at once. */
#include "harness/explain/loss_sets.h"
#include "harness/explain/lost.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 9, LOST = 100, MANY = 40 /* more than a ring's last records */ };

/* Of @LOST records that are lost behind so many of both kinds, so many were samples. */
static void among(int sideband, int samples, int sideband_then, double wanted)
{
	const struct jp_event_asked asked = {.sideband = true};
	const struct jp_event sample = MADE_EVENT(SAMPLE, PID, 1),
			      comm = MADE_EVENT(COMM, PID, 1, .comm = {.name = "a"}),
			      lost = MADE_EVENT(LOST, PID, 2, .asked = &asked,
						.lost = {.lost = LOST});
	struct jp_lost state = {0};

	for (int i = 0; i < sideband; i++)
		jp_lost_handle(&state, &comm);
	for (int i = 0; i < samples; i++)
		jp_lost_handle(&state, &sample);
	for (int i = 0; i < sideband_then; i++)
		jp_lost_handle(&state, &comm);
	jp_lost_handle(&state, &lost);
	check(state.among == wanted && state.records[true] == LOST,
	      "behind %d others, %d samples and %d others %g of %d were samples", sideband, samples,
	      sideband_then, state.among, LOST);
}

/* Sets beyond the most are no error, and what is known stays. */
static void most_sets(void)
{
	enum { ALL = 1 << 20 };
	struct jp_blame *nobody = NULL;
	struct jp_loss_sets sets = {0};
	size_t first = 0, set = 0;
	int failed = jp_loss_sets_add(&sets, &first, 0, &nobody);

	for (uint32_t i = 1; i < ALL && !failed; i++, set = 0)
		failed = jp_loss_sets_add(&sets, &set, i, &nobody);
	check(!failed && sets.count == ALL, "%zu sets", sets.count);
	check(!jp_loss_sets_add(&sets, &set, ALL, &nobody) && !set && sets.count == ALL,
	      "one more is none, and no error");
	check(!jp_loss_sets_add(&sets, &set, 0, &nobody) && set == first,
	      "one that is there is found");
	jp_loss_sets_free(&sets);
}

int main(void)
{
	among(0, 0, 0, 0);
	among(0, 1, 3, 25);
	among(0, MANY, 0, LOST);
	among(0, 0, MANY, 0);
	among(MANY, 8, 0, 25);
	among(0, MANY, 24, 25);
	most_sets();
	return check_done();
}
