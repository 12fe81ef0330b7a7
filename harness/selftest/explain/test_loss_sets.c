// SPDX-License-Identifier: GPL-2.0-only
/* Tests counting lost samples by the last records of a ring, and sets of losses of one sample. */
#include "harness/explain/loss_sets.h"
#include "harness/explain/lost.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 9, LOST = 100, MANY = 40 /* more than the number of a ring's last records */ };

/* Checks how many of LOST records count as samples, by the records before. */
static void check_lost_samples(int sideband, int samples, int sideband_then, double wanted)
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
	      "after %d others, %d samples and %d others %g of %d lost count as samples", sideband,
	      samples, sideband_then, state.among, LOST);
}

TEST(most_sets)
{
	enum { ALL = 1 << 20 };
	struct jp_blame *nobody = NULL;
	struct jp_loss_sets sets = {0};
	size_t first = 0, set = 0;
	int failed = jp_loss_sets_add(&sets, &first, 0, &nobody);

	for (uint32_t i = 1; i < ALL && !failed; i++, set = 0)
		failed = jp_loss_sets_add(&sets, &set, i, &nobody);
	check(!failed && sets.count == ALL, "%zu sets are added", sets.count);
	check(!jp_loss_sets_add(&sets, &set, ALL, &nobody) && !set && sets.count == ALL,
	      "one more set is dropped without an error");
	check(!jp_loss_sets_add(&sets, &set, 0, &nobody) && set == first, "a known set is found");
	jp_loss_sets_free(&sets);
}

TEST(loss_sets)
{
	check_lost_samples(0, 0, 0, 0);
	check_lost_samples(0, 1, 3, 25);
	check_lost_samples(0, MANY, 0, LOST);
	check_lost_samples(0, 0, MANY, 0);
	check_lost_samples(MANY, 8, 0, 25);
	check_lost_samples(0, MANY, 24, 25);
}
