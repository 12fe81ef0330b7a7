// SPDX-License-Identifier: GPL-2.0-only
/* Tests that the samples of a thread that held its CPU exist, and that no other thread has samples
 * there. */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 9, SLACK = 10, PERIOD = 200000, LENGTH = PERIOD * 9 / 2, BREAK = PERIOD };

static struct jp_truth_incarnation image = {.pid = PID, .until = UINT64_MAX, .first = true};
static const struct jp_event_asked on_cpus = {.cpus = true, .kernel = true};

static struct jp_truth make_truth(struct jp_truth_activation *activations, size_t count)
{
	return (struct jp_truth){.version = 3,
				 .incarnations = &image,
				 .nr_incarnations = 1,
				 .activations = activations,
				 .nr_activations = count};
}

/* Makes activation @i of four and a half periods, with its thread off the CPU for @off ns. */
static struct jp_truth_activation make_activation(uint32_t tid, uint64_t i, uint64_t off)
{
	const uint64_t enter = (1 + i) * (LENGTH + BREAK);

	return (struct jp_truth_activation){.pid = PID,
					    .tid = tid,
					    .enter = enter,
					    .inside = enter,
					    .leave = enter + LENGTH,
					    .cpu = LENGTH - off};
}

static struct jp_event make_sample(uint32_t tid, uint64_t time, uint32_t cpu)
{
	struct jp_event event = MADE_EVENT(SAMPLE, PID, time, .asked = &on_cpus, .cpu = cpu,
					   .sample = {.ip = 0x1800, .period = PERIOD});

	event.tid = tid;
	return event;
}

/* The first sample is on CPU 0, in the middle of an activation of PID; each row describes a second
 * sample, @later ns after the first. */
static void test_samples(void)
{
	static const struct {
		uint64_t off;
		uint32_t tid, cpu;
		int64_t later;
		bool bad;
	} rows[] = {
		{0, PID, 0, 1000, false},
		{0, PID, 1, 1000, true},
		{1000, PID, 1, 1000, false}, /* the thread may have migrated */
		{0, PID + 1, 1, 1000, false},
		{0, PID + 1, 0, 1000, true},
		{0, PID + 1, 0, -1000, true},
		{1000, PID + 1, 0, 1000, false}, /* the threads may have shared the CPU */
		{0, PID + 1, 0, LENGTH / 2 - SLACK - 1, true},
		{0, PID + 1, 0, LENGTH / 2 - SLACK, false}, /* the activation may have ended */
		{0, PID + 1, 0, -LENGTH / 2 + SLACK + 1, true},
		{0, PID + 1, 0, -LENGTH / 2 + SLACK, false},
		{0, PID, 1, LENGTH, false}, /* sample in no activation */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_truth_activation one = make_activation(PID, 0, rows[i].off);
		struct jp_truth truth = make_truth(&one, 1);
		const struct jp_evidence evidence = {.truth = &truth, .info = {.slack = SLACK}};
		const uint64_t middle = one.enter + LENGTH / 2;
		const struct jp_event first = make_sample(PID, middle, 0);
		const struct jp_event second =
			make_sample(rows[i].tid, middle + (uint64_t)rows[i].later, rows[i].cpu);
		const struct jp_event events[] = {rows[i].later < 0 ? second : first,
						  rows[i].later < 0 ? first : second};

		check(judge("pinned_activations", &evidence, events, 2, "samples.cpu").k ==
				      rows[i].bad &&
			      exceptions == rows[i].bad,
		      "sample %zu: %s", i, rows[i].bad ? "impossible" : "possible");
	}
}

/* A record that another thread caused meanwhile shows that the first thread had left. */
static void test_records(void)
{
	static const struct {
		const char *what;
		enum jp_event_type type;
		uint64_t id, first_enabled;
		uint32_t cpu;
		bool bad;
	} rows[] = {
		{"an exit on another CPU", JP_EVENT_EXIT, 7, 1, 1, false},
		{"a fork on the held CPU", JP_EVENT_FORK, 7, 1, 0, true},
		{"an exit on the held CPU", JP_EVENT_EXIT, 7, 1, 0, true},
		{"LOST_SAMPLES, written by a reader", JP_EVENT_LOST_SAMPLES, 7, 1, 0, false},
		{"a record synthesized from /proc", JP_EVENT_EXIT, 0, 1, 0, false},
		{"a record before all events were enabled", JP_EVENT_EXIT, 7, UINT32_MAX, 0, false},
		{"another profiler's record", JP_EVENT_EXIT, 7, 0, 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct jp_truth_activation one = make_activation(PID, 0, 0);
		struct jp_truth truth = make_truth(&one, 1);
		const struct jp_evidence evidence = {
			.truth = &truth,
			.info = {.slack = SLACK, .first_enabled = rows[i].first_enabled},
			.intervals = {.gate = ""}};
		const uint64_t middle = one.enter + LENGTH / 2;
		struct jp_event events[] = {make_sample(PID, middle, 0),
					    MADE_EVENT(EXIT, PID, middle + 1000, .asked = &on_cpus,
						       .cpu = rows[i].cpu, .id = rows[i].id)};

		events[1].type = rows[i].type;
		events[1].by_tid = PID + 1;
		check(judge("pinned_activations", &evidence, events, 2, "samples.cpu").k ==
				      rows[i].bad &&
			      exceptions == rows[i].bad,
		      "%s: %s", rows[i].what, rows[i].bad ? "impossible" : "possible");
	}
}

int main(void)
{
	test_records();
	test_samples();
	return check_done();
}
