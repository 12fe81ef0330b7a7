// SPDX-License-Identifier: GPL-2.0-only
/* Two clocks on the same threads: which differences the host explains, and which are faults. */
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

enum { PID = 9, PERIOD = 1000000, MOST = 4096, CPUS = 2, BEGIN = 1000 };

static struct jp_truth_incarnation image = {.pid = PID, .until = UINT64_MAX, .first = true};
static const struct jp_event_asked task = {
	.cpus = true, .kernel = true, .user = true, .inherit = true, .period = PERIOD};

/* Both streams of one case. */
struct streams {
	struct jp_event capture[MOST];
	struct jp_witness_sample witness[MOST];
	size_t nr_capture, nr_witness;
	uint64_t lost, throttles;
	unsigned hides; /* the kernel takes no sample in one of so many; 0: it takes all */
};
static struct streams made;

/* A timer of a thread: when it expires next, in ns of the thread's time on its CPU. */
struct timer {
	uint64_t period, next;
};

static void put_capture(uint32_t tid, uint32_t cpu, uint64_t time)
{
	struct jp_event *event = &made.capture[made.nr_capture++];

	*event = (struct jp_event)MADE_EVENT(SAMPLE, PID, time, .asked = &task, .cpu = cpu,
					     .sample = {.ip = 0x1800, .period = PERIOD});
	event->tid = tid;
}

static void put_witness(uint32_t tid, uint32_t cpu, uint64_t time)
{
	made.witness[made.nr_witness++] = (struct jp_witness_sample){
		.time = time, .ip = 0x1800, .pid = PID, .tid = tid, .cpu = cpu, .user = true};
}

/* Whether the kernel takes a sample as @timer expires by @own; it goes on in whole periods. */
static bool expires(struct timer *timer, uint64_t own, uint64_t *random)
{
	if (timer->next > own)
		return false;
	while (timer->next <= own)
		timer->next += timer->period;
	return !made.hides || check_random(random) % made.hides;
}

/*
 * Runs thread @tid for @periods on @cpu, one chance in @switches each microsecond of being switched
 * away for up to three periods, and as often of standing still with its CPU for up to three.
 */
static void run(uint32_t tid, uint32_t cpu, unsigned periods, unsigned switches, uint64_t *random)
{
	struct timer capture = {PERIOD, check_random(random) % PERIOD};
	struct timer witness = {jp_witness_period(PERIOD), check_random(random) % (PERIOD / 2)};
	uint64_t wall = BEGIN + check_random(random) % PERIOD;

	for (uint64_t own = 0; own < (uint64_t)periods * PERIOD; own += 1000, wall += 1000) {
		if (switches && check_random(random) % switches == 0)
			wall += check_random(random) % (3 * PERIOD);
		if (switches && check_random(random) % switches == 0) {
			const uint64_t stall = check_random(random) % (3 * PERIOD);

			own += stall;
			wall += stall;
		}
		if (expires(&capture, own, random))
			put_capture(tid, cpu, wall + 3);
		if (expires(&witness, own, random))
			put_witness(tid, cpu, wall + 5);
	}
}

/* Judges the streams. Returns the number of exceptions; stores in *@skipped, unless it is NULL,
 * whether the witness shows that the kernel skipped a sample. */
static size_t judge_streams(bool *skipped)
{
	const struct jp_truth truth = {.version = 3, .incarnations = &image, .nr_incarnations = 1};
	const struct jp_evidence evidence = {
		.truth = (struct jp_truth *)&truth,
		.info = {.sampling = 1, .stopped = UINT64_MAX / 2, .lost_samples = made.lost},
		.watched = {.started = 1, .witness_since = 1, .witness = made.nr_witness},
		.witnessed = {made.witness, made.nr_witness, made.throttles,
			      jp_witness_period(PERIOD), ""},
		.intervals = {.gate = ""}};

	if (skipped)
		*skipped = judge("witness", &evidence, made.capture, made.nr_capture,
				 "witness.skipped")
				   .k != UINT64_MAX;
	else
		judge("witness", &evidence, made.capture, made.nr_capture, "cpu.samples");
	return exceptions;
}

static size_t faults(void)
{
	return judge_streams(NULL);
}

static void drop(size_t from, size_t count)
{
	made.nr_capture -= count;
	memmove(&made.capture[from], &made.capture[from + count],
		(made.nr_capture - from) * sizeof(made.capture[0]));
}

static void begin(unsigned switches, uint64_t *random)
{
	made.nr_capture = made.nr_witness = 0;
	made.lost = made.throttles = 0;
	run(PID, 0, 500, switches, random);
}

static void honest(void)
{
	unsigned wrong = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;

		begin(seed % 2 ? 0 : 3000, &random);
		run(PID + 1, 1, 300, 1000, &random);
		wrong += faults() != 0;
	}
	check(!wrong, "200 pairs of streams, with switches and stalls: %u have a fault", wrong);
}

/* A kernel that hides samples at random hides those of both clocks. */
static void hidden(void)
{
	unsigned wrong = 0, caught = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;

		made.hides = 100;
		begin(seed % 2 ? 0 : 20000, &random);
		run(PID + 1, 1, 300, 3000, &random);
		wrong += faults() != 0;
		begin(0, &random);
		for (size_t i = 10; i < made.nr_capture; i += 12)
			drop(i, 1);
		caught += faults() != 0;
	}
	made.hides = 0;
	check(!wrong, "200 pairs of streams that both lack one of 100 samples: %u have a fault",
	      wrong);
	check(caught == 200, "a capture lacks one of 12 samples more: %u of 200 caught", caught);
}

static void one_is_gone(void)
{
	uint64_t random = 7;

	begin(0, &random);
	drop(200, 1);
	check(!faults(), "a sample that is gone may be the switch of a context");
	begin(0, &random);
	for (size_t at = 70; at <= 420; at += 70)
		drop(at, 1);
	check(faults() == 1, "six of 500 samples are gone one by one: a fault");
	begin(0, &random);
	made.nr_capture = made.nr_witness = 0;
	run(PID, 0, 200, 0, &random);
	for (size_t at = 50; at <= 150; at += 50)
		drop(at, 1);
	check(faults() == 1, "three of 200 as well");
}

static void in_a_row(void)
{
	unsigned caught = 0;

	for (size_t at = 1; at < 490; at++) {
		uint64_t random = at;

		begin(0, &random);
		drop(at, 3);
		caught += faults() != 0;
	}
	check(caught == 489, "three samples in a row are gone at any of 489 places: %u caught",
	      caught);
}

static void at_random(void)
{
	unsigned caught = 0, excused = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t random = seed * 0x2545f4914f6cdd1d;
		bool skipped;

		begin(20000, &random);
		for (size_t i = made.nr_capture; i-- > 0;)
			if (i % 50 == seed % 50)
				drop(i, 1);
		caught += judge_streams(&skipped) != 0;
		excused += skipped;
	}
	check(caught + excused >= 100 && excused <= 10,
	      "2 %% of a thread's samples are gone in 100 recordings: %u caught; in %u a stall "
	      "looks like a sample that the kernel skipped",
	      caught, excused);
}

static void others(void)
{
	uint64_t random = 3;
	size_t count;

	begin(0, &random);
	for (size_t i = 0, n = made.nr_capture; i < n; i += 10)
		put_capture(PID, 0, made.capture[i].time + 20);
	check(faults() != 0, "each tenth sample is there twice");

	begin(0, &random);
	count = made.nr_capture;
	run(PID + 1, 1, 300, 0, &random);
	made.nr_capture = count;
	check(faults() != 0, "all samples of a thread are gone");

	begin(0, &random);
	for (size_t i = 100; i < 150; i++)
		made.capture[i].tid = PID + 2;
	check(faults() != 0, "samples of a thread under the id of another");

	begin(0, &random);
	drop(200, 4);
	made.lost = 4;
	check(!faults(), "the capture states how many were lost");
	made.lost = 1;
	check(faults() != 0, "and more are gone");
}

/* The kernel stops both timers, the witness's first, until the tick that ends at each tenth
 * period; the capture states it. */
static void throttle(bool both)
{
	size_t kept = 0;

	for (size_t i = 0; i < made.nr_witness; i++) {
		struct jp_witness_sample sample = made.witness[i];
		const uint64_t part = sample.time % (10 * (uint64_t)PERIOD);

		if (part >= 7 * PERIOD)
			made.witness[kept - 1].throttled = true;
		else
			made.witness[kept++] = sample;
	}
	made.nr_witness = kept;
	for (size_t i = kept = 0; i < made.nr_capture; i++)
		if (!both || made.capture[i].time % (10 * (uint64_t)PERIOD) < 8 * PERIOD)
			made.capture[kept++] = made.capture[i];
	made.nr_capture = kept;
	made.throttles = 50;
}

static void throttled(void)
{
	unsigned wrong = 0;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;

		begin(0, &random);
		throttle(seed % 2);
		wrong += faults() != 0;
	}
	check(!wrong, "50 pairs of streams that were throttled: %u have a fault", wrong);
	wrong = 0;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t random = seed;

		begin(0, &random);
		throttle(true);
		for (size_t i = made.nr_capture; i-- > 0;)
			if (i % 5 == 0)
				drop(i, 1);
		wrong += faults() != 0;
	}
	check(wrong == 50, "each fifth is gone from those: %u caught", wrong);
}

int main(void)
{
	honest();
	hidden();
	one_is_gone();
	in_a_row();
	at_random();
	others();
	throttled();
	return check_done();
}
