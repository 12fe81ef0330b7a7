// SPDX-License-Identifier: GPL-2.0-only
/*
 * Witness: compares the capture's samples with those of a second clock on the same threads
 * (harness/capture/witness.h). Both clocks are hrtimers that keep their phase and expire in the
 * order of their times. The witness's period is more than half of the capture's. So four
 * consecutive samples of the witness on one CPU enclose a sample of the capture; else samples are
 * missing (a hole). Two samples of the capture on a thread are a period apart or more.
 *
 * Three effects are no fault. A switch between threads with equal events swaps the phases of their
 * timers (perf_event_context_sched_out()), so holes are found on CPUs, and sums over a thread have
 * a tolerance. Some kernels take no sample within certain code, such as a hidden BPF program: the
 * capture may lack its share of such samples. The kernel throttles the faster witness first: such
 * times are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/sort.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/sample_class.h"
#include "validators/two_clocks.h"

/* Number of a thread's samples that may be missing in holes: when threads swap their contexts, a
 * timer continues in another thread, which may leave the CPU before the timer expires. Most swaps
 * show, because the witness's samples are not a period apart then. But the other context's phase
 * differs by less than LATE in 2 * LATE / @ratio of the swaps, about one in four. */
static const double ALLOWED_MISSING = 2;
/* Largest difference, in periods of the capture, between an interval of samples and a whole number
 * of periods. If it is larger, the timer was interrupted or its handler was late. A smaller value
 * excuses fewer missing samples. */
static const double LATE = 1.0 / 16;
static const struct jp_role seen_samples = {.column = "seen"};
static const struct jp_role surplus_samples = {.column = "invented"};

struct clock_sample {
	uint64_t time;
	uint32_t pid, tid, cpu;
};

/* Counts of samples within the windows: of one thread, of one process, or of the whole case. */
struct tally {
	uint32_t pid, tid;
	struct jp_clock_thread witness;
	uint64_t capture;
	uint64_t nr_inside;  /* samples of @capture in activations */
	uint64_t nr_near;    /* samples of @capture near the previous sample:
			      * jp_clock_are_samples_near()
			      */
	uint64_t nr_missing; /* number of missing samples, over all holes */
	uint64_t row;        /* largest number of missing samples in one hole */
	uint64_t longest;    /* largest number of the witness's samples in one hole */
	uint64_t hole;       /* start of the first hole, in ns */
	uint64_t threads;    /* number of threads */
	double nr_restarted; /* samples that the capture may lack because timers begin anew */
};

struct witness {
	struct jp_view *view;
	const struct jp_witnessed *witnessed;
	struct clock_sample *samples;
	size_t count, capacity;
	struct jp_cpu_times capture_times, witness_times;
	uint64_t period;
	double ratio; /* samples of the capture per sample of the witness */
	uint32_t attr;
	bool is_requested; /* whether @attr is of the clock that the runner requested */
	bool steady, task, kernel, observed;
	struct jp_map throttled; /* event id -> time of its THROTTLE */
	double unsampled;    /* samples that the capture lacks because its events were throttled */
	double max_lost;     /* samples that may be missing because they were lost or throttled */
	uint64_t nr_skipped; /* samples of the witness that the kernel did not take when they were
			     due, although nothing was interrupted */
	uint64_t nr_taken;   /* samples of the witness that were due likewise, and taken */
	struct jp_map indices; /* jp_clock_key() -> index into @tallies + 1 */
	struct tally *tallies; /* tallies of the threads */
	size_t nr_tallies, tallies_capacity;
	double lack, surplus; /* missing samples, and excess samples, of threads with a fault */
};

/* Adds the time between an event's THROTTLE and UNTHROTTLE records to the unsampled time. */
static int handle_throttle(struct witness *state, const struct jp_event *event)
{
	uint64_t *start_time = jp_map_at(&state->throttled, event->id, sizeof(*start_time));

	if (!start_time)
		return -ENOMEM;
	if (event->record_type == JP_PERF_RECORD_THROTTLE)
		*start_time = event->time;
	else if (*start_time)
		state->unsampled +=
			(double)(event->time - *start_time) / (double)(state->period ?: 1);
	if (event->record_type == JP_PERF_RECORD_UNTHROTTLE)
		*start_time = 0;
	return 0;
}

/* Returns whether the runner requested this clock, with or without the kernel's samples. */
static bool is_requested_clock(const struct witness *state, const struct jp_event_asked *asked)
{
	const struct jp_watched_info *watched = &state->view->evidence->watched;

	return asked && asked->clock == (watched->task_clock ? JP_CLOCK_TASK : JP_CLOCK_CPU) &&
	       asked->kernel == !watched->user_only;
}

/* Compares the event of sample @event with the witness, in place of any earlier event. */
static void choose_event(struct witness *state, const struct jp_event *event)
{
	const struct jp_event_asked *requested = event->asked;

	state->count = 0;
	state->capture_times.count = 0;
	state->period = event->sample.period;
	state->attr = event->attr;
	state->is_requested = is_requested_clock(state, requested);
	state->task = requested && requested->inherit && requested->cpus;
	state->kernel = requested && requested->kernel;
	state->steady = true;
}

/* Notes a sample. A capture of all CPUs has samples of number 0: of idle CPUs, and of tasks outside
 * of the recorder's pid namespace, which hold a CPU as other tasks do. */
static int handle_sample(struct witness *state, const struct jp_event *event)
{
	if (!state->count || (event->attr != state->attr && !state->is_requested &&
			      is_requested_clock(state, event->asked)))
		choose_event(state, event);
	if (event->attr != state->attr)
		return 0;
	state->steady &= event->sample.period == state->period;
	return jp_array_append(
		       &state->samples, &state->count, &state->capacity,
		       (struct clock_sample){event->time, event->pid, event->tid, event->cpu})
		       ?: jp_cpu_times_add(&state->capture_times, event->cpu, event->time);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	if (event->record_type == JP_PERF_RECORD_THROTTLE ||
	    event->record_type == JP_PERF_RECORD_UNTHROTTLE)
		return handle_throttle(view->state, event);
	return event->type == JP_EVENT_SAMPLE && event->time ? handle_sample(view->state, event)
							     : 0;
}

JP_ORDER(compare_by_thread, struct clock_sample,
	 jp_compare(a->tid, b->tid) ?: jp_compare(a->time, b->time));

/* Sorts the capture's samples by thread, and the times of both clocks by CPU. Returns 0 or
 * -ENOMEM. */
static int sort_samples(struct witness *state)
{
	const struct jp_witness_sample *samples = state->witnessed->samples;
	int failed = 0;

	for (size_t i = 0; i < state->witnessed->count && !failed; i++)
		failed = jp_cpu_times_add(&state->witness_times, samples[i].cpu, samples[i].time);
	jp_cpu_times_sort(&state->witness_times);
	jp_cpu_times_sort(&state->capture_times);
	jp_sort(state->samples, state->count, compare_by_thread);
	return failed;
}

/* Returns whether the witness's next sample is of the same thread and CPU, without throttling in
 * between. */
static bool stays_on_cpu(const struct jp_witness_sample *sample)
{
	return sample[1].tid == sample->tid && sample[1].pid == sample->pid &&
	       sample[1].cpu == sample->cpu && !sample->throttled;
}

/* Returns the least number of samples of the capture among @count consecutive samples of the
 * witness: all intervals except the first and the last are whole periods. */
static uint64_t count_enclosed(const struct witness *state, size_t count)
{
	return count < 4 ? 0 : (uint64_t)((double)(count - 2) * state->ratio);
}

/* Returns whether @time equals @periods, both in ns, except for the time that a handler takes to
 * start. */
static bool is_whole_periods(const struct witness *state, uint64_t time, uint64_t periods)
{
	return fabs((double)time - (double)periods) < LATE * (double)state->period;
}

/* Returns how many consecutive samples of the witness, from @i on, have no sample of the capture on
 * their CPU between them. */
static size_t count_witness_samples_in_hole(const struct witness *state, size_t i)
{
	const struct jp_witness_sample *samples = state->witnessed->samples;
	const uint64_t end =
		jp_cpu_times_get_next(&state->capture_times, samples[i].cpu, samples[i].time);
	size_t next = i;

	while (next + 1 < state->witnessed->count && stays_on_cpu(&samples[next]) &&
	       samples[next + 1].time < end &&
	       jp_clock_was_watched(state->view->evidence, samples[i].pid, samples[i].time,
				    samples[next + 1].time))
		next++;
	return next - i + 1;
}

/* Returns whether nothing interrupted the capture on @cpu from @from_ns to @to_ns, because
 * samples a period apart enclose this time. */
static bool is_uninterrupted(const struct witness *state, uint32_t cpu, uint64_t from_ns,
			     uint64_t to_ns)
{
	const struct jp_cpu_times *capture = &state->capture_times;
	size_t i = jp_cpu_times_find_after(capture, cpu, from_ns);
	uint64_t last;

	if (!i || capture->times[i - 1].cpu != cpu)
		return false;
	for (last = capture->times[i - 1].time; last < to_ns; last = capture->times[i++].time)
		if (i == capture->count || capture->times[i].cpu != cpu ||
		    !is_whole_periods(state, capture->times[i].time - last, state->period))
			return false;
	return true;
}

/* Returns whether the witness's next sample comes @periods periods after sample @i, and both are in
 * time, because the samples before and after them are one period away. If nothing interrupted the
 * capture and no other thread has the witness's sample in between, then for 2 periods: the timer
 * expired in between, but the kernel took no sample. */
static bool is_next_after(const struct witness *state, size_t i, unsigned periods)
{
	const struct jp_witness_sample *sample = &state->witnessed->samples[i];
	const uint64_t period = state->witnessed->period;

	return i && i + 2 < state->witnessed->count && stays_on_cpu(sample - 1) &&
	       stays_on_cpu(sample) && stays_on_cpu(sample + 1) &&
	       is_whole_periods(state, sample->time - sample[-1].time, period) &&
	       is_whole_periods(state, sample[1].time - sample->time, periods * period) &&
	       is_whole_periods(state, sample[2].time - sample[1].time, period) &&
	       jp_cpu_times_get_next(&state->witness_times, sample->cpu, sample->time) ==
		       sample[1].time &&
	       is_uninterrupted(state, sample->cpu, sample->time, sample[1].time);
}

/* Returns how many of @count samples of the witness from @sample on other events may have taken,
 * without a sample of the capture: a switch between threads exchanges their contexts, and a new
 * thread's timers begin anew. Then the samples are not a period apart, and until its first whole
 * period such a context takes at most two. */
static size_t count_exchanged(const struct witness *state, const struct jp_witness_sample *sample,
			      size_t count)
{
	size_t exchanges = 0;

	for (size_t i = 0; state->nr_tallies > 1 && i + 1 < count; i++)
		exchanges += !is_whole_periods(state, sample[i + 1].time - sample[i].time,
					       state->witnessed->period);
	return jp_min(count, 2 * exchanges);
}

/* Returns the tally of a thread, which may be new, or NULL if out of memory. */
static struct tally *get_tally(struct witness *state, uint32_t pid, uint32_t tid)
{
	uint64_t *index = jp_map_at(&state->indices, jp_clock_key(pid, tid), sizeof(*index));
	struct tally *tally;

	if (!index)
		return NULL;
	if (*index)
		return &state->tallies[*index - 1];
	tally = jp_array_push(&state->tallies, &state->nr_tallies, &state->tallies_capacity);
	if (!tally)
		return NULL;
	*tally = (struct tally){.pid = pid, .tid = tid, .threads = 1};
	*index = state->nr_tallies;
	return tally;
}

static int tally_witness(struct witness *state)
{
	struct jp_map threads = {0};
	const struct jp_clock_thread *thread;
	struct tally *tally;
	uint64_t key;
	int failed = jp_clock_count_by_thread(state->view->evidence, &threads);

	for (size_t cursor = 0; !failed && (thread = jp_map_next(&threads, &cursor, &key));) {
		tally = get_tally(state, (uint32_t)(key >> 32), (uint32_t)key);
		if (tally)
			tally->witness = *thread;
		failed = tally ? 0 : -ENOMEM;
	}
	jp_map_free(&threads);
	return failed;
}

/* Counts how often each thread was born, by jp_clock_key(), and how many processes each process
 * made, by its pid. Returns 0 or -ENOMEM. */
static int count_starts(const struct jp_truth *truth, struct jp_map *births, struct jp_map *forks)
{
	for (size_t i = 0; i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		uint64_t *count;

		if (act->type != JP_EVENT_FORK)
			continue;
		count = jp_map_at(births, jp_clock_key(act->pid, act->tid), sizeof(*count));
		if (!count)
			return -ENOMEM;
		++*count;
		if (act->task.ppid == act->pid)
			continue;
		count = jp_map_at(forks, act->task.ppid, sizeof(*count));
		if (!count)
			return -ENOMEM;
		++*count;
	}
	return 0;
}

/* Finds how many samples each thread may lack because timers begin anew: the capture's first period
 * is longer than the witness's. A new thread with n samples of the witness has at least as many of
 * the capture as n of the witness's periods hold whole ones. A fork may give a thread of the parent
 * the new events, which shows as a gap. Returns 0 or -ENOMEM. */
static int tally_starts(struct witness *state)
{
	struct jp_map births = {0}, forks = {0};
	int failed = count_starts(state->view->evidence->truth, &births, &forks);

	for (size_t i = 0; i < state->nr_tallies && !failed; i++) {
		struct tally *tally = &state->tallies[i];
		const double due = state->ratio * (double)tally->witness.samples;
		const uint64_t *born = jp_map_find(&births, jp_clock_key(tally->pid, tally->tid));
		const uint64_t *forked = jp_map_find(&forks, tally->pid);

		if (born)
			tally->nr_restarted +=
				*born == 1 ? due - floor(due) : fmin((double)*born, due);
		if (forked)
			tally->nr_restarted += (double)jp_min(*forked, tally->witness.nr_gaps);
	}
	jp_map_free(&births);
	jp_map_free(&forks);
	return failed;
}

static int tally_holes(struct witness *state)
{
	const struct jp_witness_sample *samples = state->witnessed->samples;

	for (size_t i = 0; i < state->witnessed->count; i++) {
		state->nr_skipped += is_next_after(state, i, 2);
		state->nr_taken += is_next_after(state, i, 1);
	}
	for (size_t i = 0, count; i < state->witnessed->count; i += count) {
		struct tally *tally = get_tally(state, samples[i].pid, samples[i].tid);
		uint64_t missing;
		size_t nr_own;

		if (!tally)
			return -ENOMEM;
		count = count_witness_samples_in_hole(state, i);
		nr_own = count - count_exchanged(state, &samples[i], count);
		missing = count_enclosed(state, nr_own);
		if (missing && !tally->nr_missing)
			tally->hole = samples[i].time;
		tally->nr_missing += missing;
		tally->row = jp_max(tally->row, missing);
		tally->longest = jp_max(tally->longest, nr_own);
	}
	return 0;
}

static int tally_capture(struct witness *state)
{
	const struct jp_evidence *evidence = state->view->evidence;
	const uint64_t slack = evidence->info.slack;
	const struct jp_truth_activation *activation = NULL;

	for (size_t i = 0; i < state->count; i++) {
		const struct clock_sample *sample = &state->samples[i];
		const bool follows =
			i && sample[-1].tid == sample->tid && sample[-1].pid == sample->pid;
		struct tally *tally;

		/* A capture of all CPUs also has samples of other processes, and of released
		 * threads (tasks.strangers), which end the witness's events. */
		if (sample->tid == UINT32_MAX ||
		    !jp_clock_was_watched(evidence, sample->pid, sample->time, sample->time) ||
		    jp_clock_was_throttled(evidence, sample->tid, sample->time) ||
		    (!jp_map_find(&state->indices, jp_clock_key(sample->pid, sample->tid)) &&
		     !jp_sample_is_watched(evidence, sample->pid, UINT64_MAX)))
			continue;
		tally = get_tally(state, sample->pid, sample->tid);
		if (!tally)
			return -ENOMEM;
		tally->capture++;
		tally->nr_near += follows && jp_clock_are_samples_near(
						     sample->time - sample[-1].time, state->period);
		activation = jp_truth_activation_at(evidence->truth, activation, sample->tid,
						    sample->time + slack);
		tally->nr_inside += activation && sample->time <= activation->leave + slack;
	}
	return 0;
}

static void add_tally(struct tally *sum, const struct tally *part)
{
	jp_clock_add_counts(&sum->witness, &part->witness);
	sum->capture += part->capture;
	sum->nr_inside += part->nr_inside;
	sum->nr_near += part->nr_near;
	sum->nr_missing += part->nr_missing;
	sum->row = jp_max(sum->row, part->row);
	sum->longest = jp_max(sum->longest, part->longest);
	sum->hole = sum->hole ?: part->hole;
	sum->threads += part->threads;
	sum->nr_restarted += part->nr_restarted;
}

/* The samples of the capture, the numbers that the witness expects, and the tolerances. */
struct drift {
	double few, min, few_room;
	double many, max, many_room;
};

static struct drift compute_drift(const struct witness *state, const struct tally *tally)
{
	const double gaps = (double)tally->witness.nr_gaps;
	const double expected = state->ratio * (double)tally->witness.samples;
	const double shifts = tally->threads < state->nr_tallies
				      ? jp_witness_count_steps_of_exchanges(gaps, state->ratio)
				      : gaps;
	struct drift drift = {
		.few = (double)tally->capture,
		.min = expected,
		.few_room = jp_witness_compute_chance_bound(shifts, expected, state->ratio),
		.many = (double)tally->capture,
		.max = expected,
		/* A timer that was late by many periods takes one sample. Such a sample of the
		 * witness corresponds to only a part of a sample of the capture. */
		.many_room = jp_witness_compute_chance_bound(shifts, expected, state->ratio) +
			     fmax(1 - state->ratio, 0) * gaps,
	};

	if (state->observed) {
		/* Each visit to native code or to the kernel interrupts the counted time. */
		const double steps =
			shifts + (double)(tally->witness.samples - tally->witness.nr_user);

		drift.few = (double)tally->nr_inside;
		drift.min = state->ratio * (double)tally->witness.nr_user;
		drift.few_room = jp_witness_compute_chance_bound(steps, drift.min, state->ratio);
	}
	drift.few_room += tally->nr_restarted;
	return drift;
}

/* Returns by how many samples the longest row of missing samples exceeds the allowed number: one,
 * or two if the kernel skipped several samples of the witness. Two missing samples leave a gap of
 * three periods of the capture. */
static double count_row_beyond_chance(const struct witness *state, const struct tally *tally)
{
	if (state->nr_skipped > 1)
		return fmax((double)tally->longest - (floor(3 / state->ratio) + 1), 0);
	return fmax((double)tally->row - 1, 0);
}

/* Returns how many samples are missing in holes, beyond chance. */
static double count_missing_beyond_chance(const struct witness *state, const struct tally *tally)
{
	const double missing = (double)tally->nr_missing - ALLOWED_MISSING * (double)tally->threads;
	const double row = count_row_beyond_chance(state, tally);
	const double odds =
		(double)tally->capture / (double)jp_max(state->nr_taken + state->nr_skipped, 1);

	if (state->nr_skipped &&
	    !jp_witness_is_beyond_chance(tally->nr_missing, state->nr_skipped, odds))
		return row;
	return fmax(missing, row);
}

/* Returns how many samples are missing beyond chance. */
static double count_lack_beyond_chance(const struct witness *state, const struct tally *tally)
{
	const struct drift drift = compute_drift(state, tally);
	const double counted = drift.min - drift.few - drift.few_room;

	return fmax(counted, count_missing_beyond_chance(state, tally));
}

/* Returns how many samples are too near to their predecessor, beyond chance. Interruptions affect
 * both clocks equally often. Late timers affect the witness at least as often, because its period
 * is shorter. If several threads run and most of the witness's samples come after a gap, threads
 * exchange their timers with each switch, which may follow the rhythm of a clock. */
static uint64_t count_near_beyond_chance(const struct witness *state, const struct tally *tally)
{
	const bool exchanging =
		state->nr_tallies > 1 && 2 * tally->witness.nr_gaps > tally->witness.samples;

	return state->ratio <= 1 && !exchanging &&
			       jp_witness_is_beyond_chance(tally->nr_near, tally->witness.nr_near,
							   1)
		       ? tally->nr_near - tally->witness.nr_near
		       : 0;
}

/* Returns how many samples the capture has too many, beyond chance. */
static double count_surplus_beyond_chance(const struct witness *state, const struct tally *tally)
{
	const struct drift drift = compute_drift(state, tally);

	return fmax(fmax(drift.many - drift.max - drift.many_room, 0),
		    (double)count_near_beyond_chance(state, tally));
}

/* Consecutive samples of the witness on one thread without a sample of the capture in between. */
struct stretch {
	uint64_t count, time; /* @time: of the first sample */
};

/* Returns the stretch of most samples in the threads of @tally: pid 0 stands for all processes, tid
 * 0 for all threads of the process. */
static struct stretch find_longest_stretch(const struct witness *state, const struct tally *tally)
{
	struct stretch longest = {0}, current = {0};
	size_t captured = 0;

	for (size_t i = 0; i < state->witnessed->count; i++) {
		const struct jp_witness_sample *sample = &state->witnessed->samples[i];
		const struct clock_sample limit = {.tid = sample->tid, .time = sample->time};
		const size_t nr_before = captured;

		while (captured < state->count &&
		       compare_by_thread(&state->samples[captured], &limit) < 0)
			captured++;
		if (captured > nr_before || (i && sample[-1].tid != sample->tid))
			current = (struct stretch){0};
		current.time = current.count++ ? current.time : sample->time;
		if ((!tally->pid || tally->pid == sample->pid) &&
		    (!tally->tid || tally->tid == sample->tid) && current.count > longest.count)
			longest = current;
	}
	return longest;
}

/* Returns whether the capture does not watch the process of @tally, which is older. */
static bool is_unwatched(const struct witness *state, const struct tally *tally)
{
	return !tally->capture &&
	       jp_evidence_is_process_older(state->view->evidence, tally->pid, UINT64_MAX);
}

/* Reports if @tally has too few samples, apart from @lost lost samples, or too many. @label,
 * @number: name of the tally in the report. Returns 0 or -ENOMEM. */
static int judge_tally(struct witness *state, const struct tally *tally, double lost,
		       const char *label, uint32_t number)
{
	const struct drift drift = compute_drift(state, tally);
	const bool has_too_few = count_lack_beyond_chance(state, tally) > lost;
	const bool has_too_many = count_surplus_beyond_chance(state, tally) > 0;
	struct stretch stretch;

	if (!has_too_few && !has_too_many)
		return 0;
	stretch = find_longest_stretch(state, tally);
	if (has_too_few)
		state->lack += fmax(fmax(drift.min - drift.few, (double)tally->nr_missing), 1);
	if (has_too_many)
		state->surplus += fmax(fmax(drift.many - drift.max, 1),
				       (double)count_near_beyond_chance(state, tally));
	return jp_findings_count_failure(
		&state->view->findings, "cpu.samples",
		is_unwatched(state, tally) ? "not-watched"
		: has_too_few              ? "too-few"
					   : "too-many",
		"%s %u: %.0f samples; the witness expects %.1f, and its %" PRIu64 " gaps change "
		"that by at most %.1f; %" PRIu64 " samples are missing between witness samples, "
		"the first after %" PRIu64 ", at most %" PRIu64 " in a row; at most %" PRIu64 " "
		"witness samples lie between two samples, first at %" PRIu64 "; %" PRIu64 " "
		"samples come less than half a period after another, of the witness's %" PRIu64,
		label, number, has_too_few ? drift.few : drift.many,
		has_too_few ? drift.min : drift.max, tally->witness.nr_gaps,
		has_too_few ? drift.few_room : drift.many_room, tally->nr_missing, tally->hole,
		tally->row, stretch.count, stretch.time, tally->nr_near, tally->witness.nr_near);
}

JP_ORDER(compare_by_process, struct tally,
	 jp_compare(a->pid, b->pid) ?: jp_compare(a->tid, b->tid));

/* Judges each thread. Any thread may lack samples that were lost. If all threads together lack more
 * samples than were lost, reports each thread with missing samples. */
static int judge_threads(struct witness *state)
{
	double lack = 0;
	int failed = 0;

	for (size_t i = 0; i < state->nr_tallies; i++)
		lack += count_lack_beyond_chance(state, &state->tallies[i]);
	for (size_t i = 0; i < state->nr_tallies && !failed; i++)
		failed = judge_tally(state, &state->tallies[i],
				     lack > state->max_lost ? 0 : state->max_lost, "thread",
				     state->tallies[i].tid);
	return failed;
}

/* If no thread has a fault, judges the sums over the threads of each process with several threads,
 * and the sum over all watched processes, which it stores in @tally. */
static int judge_sums(struct witness *state, struct tally *tally)
{
	struct tally watched = {0};
	int failed = 0;

	for (size_t i = 0, next; i < state->nr_tallies; i = next) {
		struct tally process = {.pid = state->tallies[i].pid};

		for (next = i; next < state->nr_tallies && state->tallies[next].pid == process.pid;
		     next++)
			add_tally(&process, &state->tallies[next]);
		if (!failed && process.threads > 1 && state->lack + state->surplus == 0)
			failed = judge_tally(state, &process, state->max_lost, "process",
					     process.pid);
		add_tally(tally, &process);
		if (!is_unwatched(state, &process))
			add_tally(&watched, &process);
	}
	if (failed || state->lack + state->surplus > 0)
		return failed;
	return judge_tally(state, &watched, state->max_lost, "case of threads",
			   (uint32_t)watched.threads);
}

static void add_metrics(struct witness *state, const struct tally *tally)
{
	struct jp_findings *findings = &state->view->findings;
	const uint64_t samples = state->observed ? tally->nr_inside : tally->capture;
	const double expected = state->ratio * (double)(state->observed ? tally->witness.nr_inside
									: tally->witness.samples);
	const uint64_t due = (uint64_t)(expected + 0.5);

	jp_findings_add_count(findings, "cpu.samples", samples);
	jp_findings_add_count(findings, "cpu.expected", due);
	jp_findings_add_role_rate(findings, &seen_samples, "witness.seen",
				  due - jp_min((uint64_t)ceil(state->lack), due), due);
	jp_findings_add_role_count(findings, &surplus_samples, "witness.surplus",
				   (uint64_t)ceil(state->surplus));
	jp_findings_add_rate(findings, "witness.missing", tally->nr_missing,
			     tally->nr_missing + state->count);
	jp_findings_add_rate(findings, "witness.near", tally->nr_near, state->count);
	if (state->nr_skipped)
		jp_findings_add_rate(findings, "witness.skipped", state->nr_skipped,
				     state->nr_taken + state->nr_skipped);
}

static int judge_streams(struct witness *state)
{
	struct tally total = {0};
	int failed = sort_samples(state)
			     ?: tally_witness(state)
			     ?: tally_capture(state)
			     ?: tally_starts(state);

	if (!failed && state->task && state->kernel && !state->observed)
		failed = tally_holes(state);
	if (failed)
		return failed;
	jp_sort(state->tallies, state->nr_tallies, compare_by_process);
	failed = judge_threads(state) ?: judge_sums(state, &total);
	add_metrics(state, &total);
	return failed;
}

/* Returns how many samples a slower capture may lack because of throttling: the kernel throttles it
 * only if it throttles the witness, too. */
static double compute_most_throttled(const struct witness *state)
{
	return (double)state->witnessed->throttles * JP_THROTTLED_NS / (double)(state->period ?: 1);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	struct witness *state = view->state;
	int failed;

	state->max_lost += (double)evidence->info.lost_samples;
	state->observed = evidence->declared.observed;
	if (!state->count) {
		state->period = evidence->info.frequency
					? UINT64_C(1000000000) / evidence->info.frequency
					: evidence->declared.period;
		state->steady = true;
	}
	state->ratio = state->steady ? jp_clock_compute_ratio(evidence, state->period) : 0;
	state->max_lost += state->task && state->ratio <= 1
				   ? fmin(state->unsampled, compute_most_throttled(state))
				   : state->unsampled;
	failed = state->ratio > 0 ? judge_streams(state) : 0;
	if (!failed && !state->witnessed->count && state->surplus > 0)
		snprintf(view->findings.error, sizeof(view->findings.error),
			 "the witness has no sample, the capture has %.0f, which is beyond chance",
			 state->surplus);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct witness *state = view->state;

	if (*view->evidence->witnessed.denied)
		return jp_findings_note_skipped_validator(&view->findings, "witness",
							  view->evidence->witnessed.denied)
			       ?: 1;
	if (!jp_evidence_is_witnessed(view->evidence))
		return 1;
	state->witnessed = &view->evidence->witnessed;
	return 0;
}

static void free_witness(void *context)
{
	struct witness *state = context;

	jp_map_free(&state->throttled);
	jp_map_free(&state->indices);
	free(state->tallies);
	free(state->samples);
	jp_cpu_times_free(&state->capture_times);
	jp_cpu_times_free(&state->witness_times);
}

JP_DEFINE(validator, witness) = {
	.name = "witness",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.state_size = sizeof(struct witness),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_witness,
};
