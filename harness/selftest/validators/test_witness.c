// SPDX-License-Identifier: GPL-2.0-only
/* Tests two clocks that sample the same threads: the host explains some differences, others are
 * faults. */
#include <math.h>

#include "harness/model/evidence/witness.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/judged.h"
#include "harness/selftest/support/made_events.h"

/* STEP_US: microseconds by which the simulated time advances. */
enum { PID = 9, PERIOD = 1000000, STEP_US = 10, MOST = 4096, CPUS = 2, BEGIN = 1000, OLDER = 100 };

static struct jp_truth_incarnation images[1 + OLDER] = {
	{.pid = PID, .until = UINT64_MAX, .is_first = true}};
static size_t nr_images = 1;
static const struct jp_event_asked task = {
	.cpus = true, .kernel = true, .user = true, .inherit = true, .period = PERIOD};

/* The samples that the capture and the witness took of one case. */
struct streams {
	struct jp_event capture[MOST];
	struct jp_witness_sample witness[MOST];
	size_t nr_capture, nr_witness;
	uint64_t lost, throttles;
	unsigned hides; /* the kernel skips one of this many samples at random; 0: none */
};
static struct streams made;
static struct jp_event births[100];
static size_t nr_births;

/* Timer of a thread; times are in ns of the thread's CPU time. */
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

/* Advances @timer in whole periods to the thread's CPU time @cpu_time. Returns whether the kernel
 * takes a sample. */
static bool run_timer(struct timer *timer, uint64_t cpu_time, uint64_t *random)
{
	if (timer->next > cpu_time)
		return false;
	while (timer->next <= cpu_time)
		timer->next += timer->period;
	return !made.hides || check_random(random) % made.hides;
}

/*
 * Runs thread @tid for @periods on @cpu. In each microsecond, with a probability of 1 / @switches,
 * it is switched away for up to three periods; with the same probability the whole CPU stalls for
 * as long.
 */
static void run_thread(uint32_t tid, uint32_t cpu, unsigned periods, unsigned switches,
		       uint64_t *random)
{
	struct timer capture = {PERIOD, check_random(random) % PERIOD};
	struct timer witness = {jp_witness_period(PERIOD), check_random(random) % (PERIOD / 2)};
	uint64_t wall = BEGIN + check_random(random) % PERIOD;

	for (uint64_t cpu_time = 0; cpu_time < (uint64_t)periods * PERIOD;
	     cpu_time += STEP_US * 1000, wall += STEP_US * 1000) {
		if (switches && check_random(random) % switches < STEP_US)
			wall += check_random(random) % (3 * PERIOD);
		if (switches && check_random(random) % switches < STEP_US) {
			const uint64_t stall = check_random(random) % (3 * PERIOD);

			cpu_time += stall;
			wall += stall;
		}
		if (run_timer(&capture, cpu_time, random))
			put_capture(tid, cpu, wall + 3);
		if (run_timer(&witness, cpu_time, random))
			put_witness(tid, cpu, wall + 5);
	}
}

/* Runs two threads for @periods on one CPU. In each microsecond, with a probability of 1 /
 * @switches, they exchange the CPU and their timers, which so run on. */
static void run_exchanging_threads(unsigned periods, unsigned switches, uint64_t *random)
{
	const uint64_t seed = *random;

	for (uint32_t tid = PID; tid < PID + 2; tid++) {
		struct timer capture = {PERIOD, PERIOD / 3};
		struct timer witness = {jp_witness_period(PERIOD), PERIOD / 5};
		uint32_t running = PID;

		*random = seed;
		for (uint64_t cpu_time = 0; cpu_time < (uint64_t)periods * PERIOD;
		     cpu_time += STEP_US * 1000) {
			if (check_random(random) % switches < STEP_US)
				running ^= PID ^ (PID + 1);
			if (run_timer(&capture, cpu_time, random) && running == tid)
				put_capture(tid, 0, BEGIN + cpu_time + 3);
			if (run_timer(&witness, cpu_time, random) && running == tid)
				put_witness(tid, 0, BEGIN + cpu_time + 5);
		}
	}
}

/* Judges the streams. Returns the number of exceptions; stores in *@skipped, unless it is NULL,
 * whether the witness shows that the kernel skipped a sample. */
static size_t judge_streams(bool *skipped)
{
	const struct jp_truth truth = {.version = 3,
				       .incarnations = images,
				       .nr_incarnations = nr_images,
				       .acts = births,
				       .nr_acts = nr_births};
	const struct jp_evidence evidence = {
		.truth = (struct jp_truth *)&truth,
		.info = {.enabled = BEGIN,
			 .sampling = 1,
			 .stopped = UINT64_MAX / 2,
			 .lost_samples = made.lost},
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

static size_t count_faults(void)
{
	return judge_streams(NULL);
}

static void drop_samples(size_t from, size_t count)
{
	made.nr_capture -= count;
	memmove(&made.capture[from], &made.capture[from + count],
		(made.nr_capture - from) * sizeof(made.capture[0]));
}

static void make_streams(unsigned switches, uint64_t *random)
{
	made.nr_capture = made.nr_witness = 0;
	made.lost = made.throttles = 0;
	run_thread(PID, 0, 500, switches, random);
}

TEST(honest_streams)
{
	unsigned nr_wrong = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;

		make_streams(seed % 2 ? 0 : 3000, &random);
		run_thread(PID + 1, 1, 300, 1000, &random);
		nr_wrong += count_faults() != 0;
	}
	check(!nr_wrong, "200 honest pairs with switches and stalls: %u have a fault", nr_wrong);
}

/* Stores the number of samples that the capture has more than the witness expects in the thread
 * PID, and the allowed number. */
static void measure_surplus(double *surplus, double *allowed)
{
	const double ratio = (double)jp_witness_period(PERIOD) / PERIOD;
	double capture = 0, witness = 0, gaps = 0;

	for (size_t i = 0; i < made.nr_capture; i++)
		capture += made.capture[i].tid == PID;
	for (size_t i = 0; i < made.nr_witness && made.witness[i].tid == PID; i++, witness++)
		gaps += i && (double)(made.witness[i].time - made.witness[i - 1].time) >
				     JP_WITNESS_GAP * (double)jp_witness_period(PERIOD);
	*surplus = capture - ratio * witness;
	*allowed = jp_witness_compute_chance_bound(jp_witness_count_steps_of_exchanges(gaps, ratio),
						   ratio * witness, ratio);
}

TEST(exchanging_threads)
{
	double surplus, allowed, squares = 0, min = INFINITY;
	unsigned nr_wrong = 0, nr_caught = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;

		made.nr_capture = made.nr_witness = 0;
		run_exchanging_threads(1500, 200, &random);
		nr_wrong += count_faults() != 0;
		measure_surplus(&surplus, &allowed);
		squares += surplus * surplus;
		min = fmin(min, allowed);
		for (size_t i = 0; i < made.nr_capture; i += 7)
			drop_samples(i, 1);
		nr_caught += count_faults() != 0;
	}
	check(!nr_wrong, "200 pairs of threads that exchange their timers: %u have a fault",
	      nr_wrong);
	check(min > 5 * sqrt(squares / 200), "%.0f more are allowed: 5 standard deviations of %.1f",
	      min, sqrt(squares / 200));
	check(nr_caught == 200, "one of seven samples less is caught: %u of 200", nr_caught);
}

/* A kernel that skips samples at random does so for both clocks. */
TEST(hidden_samples)
{
	unsigned nr_wrong = 0, nr_caught = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;

		made.hides = 100;
		make_streams(seed % 2 ? 0 : 20000, &random);
		run_thread(PID + 1, 1, 300, 3000, &random);
		nr_wrong += count_faults() != 0;
		make_streams(0, &random);
		for (size_t i = 10; i < made.nr_capture; i += 12)
			drop_samples(i, 1);
		nr_caught += count_faults() != 0;
	}
	made.hides = 0;
	check(!nr_wrong, "200 pairs that both lack one of 100 samples: %u have a fault", nr_wrong);
	check(nr_caught == 200, "a capture that lacks 1 of 12 more is caught: %u of 200",
	      nr_caught);
}

TEST(few_missing)
{
	uint64_t random = 7;

	make_streams(0, &random);
	drop_samples(200, 1);
	check(!count_faults(), "a sample that is gone may be the switch of a context");
	make_streams(0, &random);
	for (size_t index = 100; index <= 300; index += 100)
		drop_samples(index, 1);
	check(count_faults() == 1, "three missing samples are a fault");
	make_streams(0, &random);
	drop_samples(100, 10);
	check(count_faults() == 1 &&
		      strstr(exception_text,
			     "at most 21 witness samples lie between two samples, first at 101"),
	      "the report states where ten samples are missing");
	make_streams(0, &random);
	for (size_t index = 100; index <= 300; index += 100)
		made.capture[index].pid = made.capture[index].tid = 0;
	check(!count_faults(), "the task of a CPU's sample may have no number");
}

TEST(missing_in_a_row)
{
	unsigned nr_caught = 0;

	for (size_t index = 1; index < 490; index++) {
		uint64_t random = index;

		make_streams(0, &random);
		drop_samples(index, 3);
		nr_caught += count_faults() != 0;
	}
	check(nr_caught == 489, "three missing in a row are caught at %u of 489 places", nr_caught);
}

/* Lets @count threads be born at @time; their tids follow PID. */
static void put_births(size_t count, uint64_t time)
{
	nr_births = count;
	for (size_t i = 0; i < count; i++)
		births[i] = (struct jp_event)MADE_ACT(FORK, PID, PID + 1 + i, time, time,
						      .task = {.ppid = PID, .ptid = PID});
}

TEST(exchanged)
{
	uint64_t random = 7, from, to;

	make_streams(0, &random);
	from = made.capture[199].time;
	to = made.capture[203].time;
	drop_samples(200, 3);
	put_capture(PID + 1, 1, BEGIN);
	put_witness(PID + 1, 1, BEGIN);
	check(count_faults() == 1, "events that keep their phase lack three samples");
	for (size_t i = 0; i < made.nr_witness; i += 2)
		if (made.witness[i].time > from && made.witness[i].time < to)
			made.witness[i].time += PERIOD / 4;
	check(!count_faults(), "threads may have exchanged their events each time");
	made.nr_capture--;
	made.nr_witness--;
	check(count_faults() == 1, "a single thread cannot");
}

/* Tests threads that live longer than the witness's period and shorter than the capture's. */
TEST(short_threads)
{
	enum { THREADS = 100 };

	made.nr_capture = made.nr_witness = 0;
	put_capture(PID, 0, BEGIN);
	put_witness(PID, 0, BEGIN);
	for (uint32_t i = 0; i < THREADS; i++)
		put_witness(PID + 1 + i, 0, BEGIN + i * PERIOD);
	check(count_faults() == 1, "100 threads without a sample of the capture are a fault");
	put_births(THREADS, BEGIN);
	check(!count_faults(), "new threads can end before the capture's first period");
	nr_births = 0;
}

/* Tests processes that an attach does not watch, with a sample of the witness each. */
TEST(older_processes)
{
	made.nr_capture = made.nr_witness = 0;
	put_capture(PID, 0, BEGIN);
	put_witness(PID, 0, BEGIN);
	for (uint32_t i = 1; i <= OLDER; i++) {
		put_witness(PID + i, 0, BEGIN + i * PERIOD);
		made.witness[i].pid = PID + i;
		images[i] = images[0];
		images[i].pid = PID + i;
		images[i].before = 1;
	}
	check(count_faults() == 1, "100 processes without a sample of the capture are a fault");
	nr_images += OLDER;
	check(!count_faults(), "processes that are older than the capture are none");
	nr_images = 1;
}

/* Tests a process that loses its timers to each of the processes that it makes. */
TEST(forks)
{
	enum { SAMPLES = 500 };

	made.nr_capture = made.nr_witness = 0;
	for (uint32_t i = 0; i < SAMPLES; i++) {
		put_witness(PID, i % CPUS, BEGIN + (uint64_t)i * 2 * PERIOD);
		if (i % 3 == 0)
			put_capture(PID, i % CPUS, BEGIN + (uint64_t)i * 2 * PERIOD);
	}
	check(count_faults() == 1, "each second sample of a thread with gaps is missing");
	put_births(100, BEGIN);
	for (size_t i = 0; i < nr_births; i++)
		births[i].pid = births[i].tid;
	check(!count_faults(), "as many forks explain it");
	nr_births = 0;
}

/* Tests samples near each other in a thread whose timers change with each sample: only another
 * thread explains them. */
TEST(near_samples_with_gaps)
{
	made.nr_capture = made.nr_witness = 0;
	for (uint32_t i = 0; i < 500; i++) {
		const uint64_t time = BEGIN + (uint64_t)i * 2 * PERIOD;

		put_witness(PID, i % CPUS, time);
		if (i % 4)
			continue;
		put_capture(PID, i % CPUS, time);
		put_capture(PID, i % CPUS, time + PERIOD / 4);
	}
	check(count_faults() == 1, "a single thread has no near samples");
	put_capture(PID + 1, 0, BEGIN);
	put_witness(PID + 1, 0, BEGIN);
	check(!count_faults(), "near samples are no fault where threads exchange their timers");
}

TEST(missing_at_random)
{
	unsigned nr_caught = 0, excused = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t random = seed * 0x2545f4914f6cdd1d;
		bool is_skipped;

		make_streams(20000, &random);
		for (size_t i = made.nr_capture; i-- > 0;)
			if (i % 50 == seed % 50)
				drop_samples(i, 1);
		nr_caught += judge_streams(&is_skipped) != 0;
		excused += is_skipped;
	}
	check(nr_caught + excused >= 100 && excused <= 10,
	      "2 %% of a thread's samples are gone in 100 recordings: %u caught; in %u a stall "
	      "looks like a sample that the kernel skipped",
	      nr_caught, excused);
}

TEST(other_thread)
{
	struct jp_witness_sample taken;
	uint64_t random = 7;
	bool is_skipped;

	make_streams(0, &random);
	taken = made.witness[400];
	made.nr_witness--;
	memmove(&made.witness[400], &made.witness[401],
		(made.nr_witness - 400) * sizeof(made.witness[0]));
	judge_streams(&is_skipped);
	check(is_skipped, "a sample that no thread has is a skipped sample");
	put_witness(PID + 1, taken.cpu, taken.time);
	judge_streams(&is_skipped);
	check(!is_skipped, "a sample that another thread has is not a skipped sample");
}

TEST(other_faults)
{
	uint64_t random = 3;
	size_t count;

	make_streams(0, &random);
	for (size_t i = 0, n = made.nr_capture; i < n; i += 10)
		put_capture(PID, 0, made.capture[i].time + 20);
	check(count_faults() != 0, "duplicates of each tenth sample are a fault");

	make_streams(0, &random);
	count = made.nr_capture;
	run_thread(PID + 1, 1, 300, 0, &random);
	made.nr_capture = count;
	check(count_faults() != 0, "a thread without samples is a fault");

	make_streams(0, &random);
	for (size_t i = 100; i < 150; i++)
		made.capture[i].tid = PID + 2;
	check(count_faults() != 0, "samples with another thread's tid are a fault");

	make_streams(0, &random);
	for (size_t i = 0; i < 40; i++)
		put_capture(UINT32_MAX, 0, made.capture[i].time);
	check(!count_faults(), "samples of released threads, which have no number, are no fault");

	make_streams(0, &random);
	drop_samples(200, 4);
	made.lost = 4;
	check(!count_faults(), "missing samples that the capture states as lost are allowed");
	made.lost = 1;
	check(count_faults() != 0, "more missing samples than stated as lost are a fault");
}

/* Throttles both timers, the witness's first, until the tick at each tenth period, as the capture
 * states. If @throttles_both is false, throttles only the witness's timer. */
static void throttle_streams(bool throttles_both)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < made.nr_witness; i++) {
		struct jp_witness_sample sample = made.witness[i];
		const uint64_t part = sample.time % (10 * (uint64_t)PERIOD);

		if (part >= 7 * PERIOD)
			made.witness[nr_kept - 1].throttled = true;
		else
			made.witness[nr_kept++] = sample;
	}
	made.nr_witness = nr_kept;
	for (size_t i = nr_kept = 0; i < made.nr_capture; i++)
		if (!throttles_both || made.capture[i].time % (10 * (uint64_t)PERIOD) < 8 * PERIOD)
			made.capture[nr_kept++] = made.capture[i];
	made.nr_capture = nr_kept;
	made.throttles = 50;
}

/* A workload that only starts may be sampled before the witness's first sample is due. */
TEST(silent_witness)
{
	uint64_t random = 1;

	make_streams(0, &random);
	made.nr_witness = 0;
	check(count_faults() && strstr(judged_error, "the witness has no sample"),
	      "no sample of the witness, %zu of the capture: \"%s\"", made.nr_capture,
	      judged_error);
	made.nr_capture = 1;
	check(!count_faults() && !*judged_error, "no sample of the witness, one of the capture: %s",
	      judged_error);
}

TEST(throttling)
{
	unsigned nr_wrong = 0;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15;

		make_streams(0, &random);
		throttle_streams(seed % 2);
		nr_wrong += count_faults() != 0;
	}
	check(!nr_wrong, "50 pairs of throttled streams: %u have a fault", nr_wrong);
	nr_wrong = 0;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t random = seed;

		make_streams(0, &random);
		throttle_streams(true);
		for (size_t i = made.nr_capture; i-- > 0;)
			if (i % 5 == 0)
				drop_samples(i, 1);
		nr_wrong += count_faults() != 0;
	}
	check(nr_wrong == 50, "throttled streams without each fifth are caught: %u of 50",
	      nr_wrong);
}
