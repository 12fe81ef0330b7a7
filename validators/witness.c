// SPDX-License-Identifier: GPL-2.0-only
/*
 * Witness: compares the capture's samples with those of a second clock on the same threads
 * (harness/capture/witness.h). What stops a thread, a CPU or the whole machine hides samples of
 * both, so each rule needs the two streams alone and no model of the host.
 *
 * Both clocks are hrtimers of the thread's context on its CPU. They expire in the order of their
 * times (__hrtimer_run_queues()) and keep to whole periods however late a handler runs
 * (hrtimer_forward_now() in perf_swevent_hrtimer()). From one sample of a clock to the next but one
 * the context runs for more than one period of that clock. Hence, with a witness whose period is
 * more than half of the capture's (jp_witness_period()):
 *
 * missing: four samples of the witness in a row, on one CPU, enclose a sample of the capture;
 * doubled: three samples of the capture in a row, of one thread and CPU, span more than its period.
 *
 * A switch between threads with equal events swaps their contexts and so the phases of the timers
 * (perf_event_context_sched_out()). So rules about single samples ask for what a CPU shows, and
 * sums over a thread leave room for its gaps.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"

/* Samples: where in their periods the clocks are when a stretch begins and when it ends. */
static const double ENDS = 2;
/*
 * Each gap shifts each timer's phase by less than a period, so the two counts drift by at most one
 * sample either way. By Hoeffding's inequality N such steps exceed K * sqrt(N) with a probability
 * of 2 * exp(-K * K / 2), which is 10^-6 for this K.
 */
static const double K = 5.39;
/* Samples of a thread that may be missing one by one: in a switch of contexts a timer goes on in
 * another thread, which may leave the CPU before it expires. */
static const double SINGLE = 2;
/* Periods of the witness: a longer interval between two of its samples is a gap, in which a switch
 * or a stall may have shifted phases. Any value between one and two periods separates the two. */
static const double GAP = 1.25;

static const struct jp_role seen = {.column = "seen"};
static const struct jp_role to_be_seen = {.column = "seen", .total = true};

struct clock_sample {
	uint64_t time;
	uint32_t pid, tid, cpu;
};

/* Samples of one thread, process or case, within the windows. */
struct tally {
	uint64_t capture, witness, gaps, doubled;
	uint64_t missing; /* samples in holes */
	uint64_t row;     /* most of them in one hole */
	uint64_t hole;    /* when the first began */
	uint64_t threads;
};

struct witness {
	struct jp_view *view;
	const struct jp_witnessed *witnessed;
	struct clock_sample *samples;
	size_t count, capacity;
	uint64_t *on_cpu; /* times of samples, of one CPU after the other */
	size_t *cpu_from; /* where in @on_cpu those of a CPU begin; nr_cpus + 1 of them */
	uint32_t nr_cpus;
	uint64_t period;
	uint32_t attr;
	bool steady, task, kernel;
	struct jp_map throttled; /* event id -> since when */
	double lost;             /* samples that the capture states as lost or throttled */
	struct tally all;
};

static int see_throttle(struct witness *state, const struct jp_event *event)
{
	uint64_t *since = jp_map_at(&state->throttled, event->id, sizeof(*since));

	if (!since)
		return -ENOMEM;
	if (event->record_type == JP_PERF_RECORD_THROTTLE)
		*since = event->time;
	else if (*since)
		state->lost += (double)(event->time - *since) / (double)(state->period ?: 1);
	if (event->record_type == JP_PERF_RECORD_UNTHROTTLE)
		*since = 0;
	return 0;
}

static int see_sample(struct witness *state, const struct jp_event *event)
{
	const struct jp_event_asked *asked = event->asked;
	struct clock_sample *sample;

	if (!state->count) {
		state->period = event->sample.period;
		state->attr = event->attr;
		state->task = asked && asked->inherit && asked->cpus;
		state->kernel = asked && asked->kernel;
		state->steady = true;
	}
	if (event->attr != state->attr)
		return 0;
	state->steady &= event->sample.period == state->period;
	sample = jp_array_push(&state->samples, &state->count, &state->capacity);
	if (!sample)
		return -ENOMEM;
	*sample = (struct clock_sample){event->time, event->pid, event->tid, event->cpu};
	state->nr_cpus = event->cpu >= state->nr_cpus ? event->cpu + 1 : state->nr_cpus;
	return 0;
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	if (event->record_type == JP_PERF_RECORD_THROTTLE ||
	    event->record_type == JP_PERF_RECORD_UNTHROTTLE)
		return see_throttle(view->state, event);
	return event->type == JP_EVENT_SAMPLE && event->tid && event->time
		       ? see_sample(view->state, event)
		       : 0;
}

static int by_thread(const void *left, const void *right)
{
	const struct clock_sample *a = left, *b = right;

	return jp_compare(a->tid, b->tid) ?: jp_compare(a->time, b->time);
}

/* Whether both clocks sampled @pid from @from to @to. */
static bool is_watched(const struct witness *state, uint32_t pid, uint64_t from, uint64_t to)
{
	const struct jp_evidence *evidence = state->view->evidence;
	const uint64_t slack = evidence->info.slack, since = evidence->watched.witness_since;
	uint64_t begin, end;

	for (size_t at = 0; from >= since && jp_evidence_window(evidence, pid, &at, &begin, &end);)
		if (from >= begin + slack && to + slack <= end)
			return true;
	return false;
}

static int sort(struct witness *state)
{
	size_t *at = calloc(state->nr_cpus + 1, sizeof(*at));

	state->cpu_from = calloc(state->nr_cpus + 2, sizeof(*state->cpu_from));
	state->on_cpu = calloc(state->count, sizeof(*state->on_cpu));
	if (!at || !state->cpu_from || !state->on_cpu) {
		free(at);
		return -ENOMEM;
	}
	for (size_t i = 0; i < state->count; i++)
		state->cpu_from[state->samples[i].cpu + 1]++;
	for (uint32_t cpu = 0; cpu < state->nr_cpus; cpu++) {
		state->cpu_from[cpu + 1] += state->cpu_from[cpu];
		at[cpu] = state->cpu_from[cpu];
	}
	for (size_t i = 0; i < state->count; i++)
		state->on_cpu[at[state->samples[i].cpu]++] = state->samples[i].time;
	free(at);
	for (uint32_t cpu = 0; cpu < state->nr_cpus; cpu++)
		qsort(state->on_cpu + state->cpu_from[cpu],
		      state->cpu_from[cpu + 1] - state->cpu_from[cpu], sizeof(*state->on_cpu),
		      jp_by_value);
	qsort(state->samples, state->count, sizeof(*state->samples), by_thread);
	return 0;
}

/* The time of the capture's first sample on @cpu after @time; UINT64_MAX: there is none. */
static uint64_t next_on_cpu(const struct witness *state, uint32_t cpu, uint64_t time)
{
	size_t i, count;

	if (cpu >= state->nr_cpus)
		return UINT64_MAX;
	count = state->cpu_from[cpu + 1];
	jp_search(i, count, i < state->cpu_from[cpu] || state->on_cpu[i] <= time);
	return i < count ? state->on_cpu[i] : UINT64_MAX;
}

/* Whether @sample and the witness's next are of one thread and CPU. */
static bool stays(const struct jp_witness_sample *sample)
{
	return sample[1].tid == sample->tid && sample[1].pid == sample->pid &&
	       sample[1].cpu == sample->cpu;
}

/* The same, and no gap is between them. */
static bool goes_on(const struct witness *state, const struct jp_witness_sample *sample)
{
	return stays(sample) &&
	       (double)(sample[1].time - sample->time) <= GAP * (double)state->witnessed->period;
}

/* Samples of the capture for each of the witness. */
static double ratio(const struct witness *state)
{
	return (double)state->witnessed->period / (double)state->period;
}

/* Samples that the capture must have among @count of the witness: all but the first and the last
 * interval between them are whole periods. */
static uint64_t enclosed(const struct witness *state, size_t count)
{
	return count < 4 ? 0 : (uint64_t)((double)(count - 2) * ratio(state));
}

/* The samples of the witness from @i on with none of the capture's between them on their CPU.
 * Returns how many there are. */
static size_t hole(const struct witness *state, size_t i)
{
	const struct jp_witness_sample *samples = state->witnessed->samples;
	const uint64_t end = next_on_cpu(state, samples[i].cpu, samples[i].time);
	size_t next = i;

	while (next + 1 < state->witnessed->count && stays(&samples[next]) &&
	       samples[next + 1].time < end &&
	       is_watched(state, samples[i].pid, samples[i].time, samples[next + 1].time))
		next++;
	return next - i + 1;
}

/* Adds the holes of one thread, whose samples of the witness are [@from, @to). */
static void find_holes(struct witness *state, size_t from, size_t to, struct tally *tally)
{
	for (size_t i = from, count; i < to; i += count) {
		uint64_t missing;

		count = hole(state, i);
		missing = enclosed(state, count);
		if (missing && !tally->missing)
			tally->hole = state->witnessed->samples[i].time;
		tally->missing += missing;
		tally->row = jp_max(tally->row, missing);
	}
}

/* Adds what the thread @tid has of the capture, from *@at on. */
static void add_capture(struct witness *state, uint32_t tid, size_t *at, struct tally *tally)
{
	const struct clock_sample *samples = state->samples;

	jp_search(*at, state->count, samples[*at].tid < tid);
	for (size_t i = *at; i < state->count && samples[i].tid == tid; i++) {
		tally->capture +=
			is_watched(state, samples[i].pid, samples[i].time, samples[i].time);
		tally->doubled += state->task && i + 2 < state->count &&
				  samples[i + 2].tid == tid &&
				  samples[i + 1].cpu == samples[i].cpu &&
				  samples[i + 2].cpu == samples[i].cpu &&
				  samples[i + 2].time - samples[i].time <= state->period;
	}
}

static double expected(const struct witness *state, const struct tally *tally)
{
	return (double)tally->witness * ratio(state);
}

/* A timer that was late by many periods gives one sample for all of them: a whole one of the
 * capture's, where the witness's stands for its part of a period alone. */
static double most_by_stalls(const struct witness *state, const struct tally *tally)
{
	return fmax(1 - ratio(state), 0) * (double)tally->gaps;
}

static int judge_tally(struct witness *state, const struct tally *tally, const char *what,
		       uint32_t number)
{
	const double room = ENDS + K * sqrt((double)tally->gaps + 1);
	const double drift = (double)tally->capture - expected(state, tally);
	const bool few = drift < -room - state->lost ||
			 (double)tally->missing > SINGLE * (double)tally->threads + state->lost ||
			 (double)tally->row > 1 + state->lost;
	const bool many =
		drift > room + most_by_stalls(state, tally) || (double)tally->doubled > room;

	if (!few && !many)
		return 0;
	return jp_findings_except(
		&state->view->findings, "cpu.samples", few ? "too-few" : "too-many",
		"%s %u: %" PRIu64 " samples; by the witness there are %.1f, "
		"which %" PRIu64 " gaps may change by %.1f; %" PRIu64
		" are missing between those, the first after %" PRIu64 ", at most %" PRIu64
		" in a row; %" PRIu64 " come less than a period after the last but one",
		what, number, tally->capture, expected(state, tally), tally->gaps, room,
		tally->missing, tally->hole, tally->row, tally->doubled);
}

static void join(struct tally *all, const struct tally *one)
{
	all->capture += one->capture;
	all->witness += one->witness;
	all->gaps += one->gaps;
	all->missing += one->missing;
	all->row = jp_max(all->row, one->row);
	all->hole = all->hole ?: one->hole;
	all->threads += one->threads;
	all->doubled += one->doubled;
}

/* One thread, whose samples of the witness begin at @from. Returns where the next thread's do. */
static size_t tally_thread(struct witness *state, size_t from, size_t *at, struct tally *tally)
{
	const struct jp_witness_sample *samples = state->witnessed->samples;
	size_t i;

	for (i = from; i < state->witnessed->count && samples[i].tid == samples[from].tid; i++) {
		if (!is_watched(state, samples[i].pid, samples[i].time, samples[i].time))
			continue;
		tally->witness++;
		tally->gaps += i == from || !goes_on(state, &samples[i - 1]);
	}
	add_capture(state, samples[from].tid, at, tally);
	return i;
}

static int judge(struct witness *state)
{
	const struct jp_witnessed *witnessed = state->witnessed;
	const bool exact = state->task && state->kernel;
	int failed = 0;
	size_t at = 0;

	for (size_t i = 0, next; i < witnessed->count && !failed; i = next) {
		struct tally tally = {.threads = 1};

		next = tally_thread(state, i, &at, &tally);
		if (exact)
			find_holes(state, i, next, &tally);
		failed = judge_tally(state, &tally, "thread", witnessed->samples[i].tid);
		join(&state->all, &tally);
	}
	if (failed)
		return failed;
	jp_findings_add_as(&state->view->findings, &seen,
			   jp_metric_count("cpu.samples", state->all.capture));
	jp_findings_add_as(
		&state->view->findings, &to_be_seen,
		jp_metric_count("cpu.expected", (uint64_t)(expected(state, &state->all) + 0.5)));
	return judge_tally(state, &state->all, "case of threads", (uint32_t)state->all.threads);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct witness *state = view->state;
	int failed;

	state->lost += (double)view->evidence->info.lost_samples;
	if (!state->count && view->evidence->info.frequency) {
		state->period = UINT64_C(1000000000) / view->evidence->info.frequency;
		state->steady = true;
	}
	if (!state->steady || !state->period)
		return 0;
	failed = sort(state) ?: judge(state);
	jp_findings_add_rate(&view->findings, "witness.missing", state->all.missing,
			     state->all.missing + state->count);
	jp_findings_add_rate(&view->findings, "witness.doubled", state->all.doubled, state->count);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct witness *state;

	if (*view->evidence->witnessed.denied)
		return jp_findings_skip(&view->findings, "witness",
					view->evidence->witnessed.denied);
	if (!jp_evidence_is_witnessed(view->evidence))
		return 0;
	state = view->state = calloc(1, sizeof(*state));
	if (!state)
		return -ENOMEM;
	state->view = view;
	state->witnessed = &view->evidence->witnessed;
	return 0;
}

static void free_witness(void *context)
{
	struct witness *state = context;

	jp_map_free(&state->throttled);
	free(state->samples);
	free(state->on_cpu);
	free(state->cpu_from);
	free(state);
}

static const struct jp_validator witness = {
	.name = "witness",
	.help = "has each thread as many samples as a second clock on it?",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_witness,
};
JP_REGISTER(validator, witness);
