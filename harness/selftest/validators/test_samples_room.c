// SPDX-License-Identifier: GPL-2.0-only
/* Tests the room for samples of other processes: a period of each CPU holds a sample of each event
 * that samples. */
#include "harness/judge/validator.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"

enum { PERIOD = 1000, PERIODS = 1000, CPUS = 2, ENDS = 2 };

/* Returns samples.room for samples of @events events that take turns, in order of time. */
static uint64_t measure_room(uint32_t events)
{
	struct jp_truth truth = {0};
	const struct jp_evidence evidence = {.truth = &truth, .watched.cpus = CPUS};
	struct jp_event samples[PERIODS + 1];

	for (uint32_t i = 0; i <= PERIODS; i++)
		samples[i] = (struct jp_event){.type = JP_EVENT_SAMPLE,
					       .time = 1 + (uint64_t)i * PERIOD,
					       .attr = i % events,
					       .sample.period = PERIOD};
	return judge("samples_room", &evidence, samples, PERIODS + 1, "samples.room").k;
}

/* The figures are rounded to whole samples. */
TEST(samples_room)
{
	const uint64_t one_event = measure_room(1);

	check(one_event >= CPUS * PERIODS && one_event <= CPUS * (PERIODS + 2 * ENDS),
	      "each CPU takes a sample in each period");
	for (uint32_t events = 2; events <= 3; events++)
		check(measure_room(events) + events >= events * one_event &&
			      measure_room(events) <= events * (one_event + 1),
		      "each event adds as much room");
}
