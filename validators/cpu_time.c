// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU time: a clock event samples a thread each period of the CPU time that it takes. The truth has
 * that of each activation: too few samples were lost or taken away, too many are doubles or made
 * up.
 *
 * How many there are is a matter of an interval. The timer ticks at whole periods of an event's own
 * time (perf_swevent_init_hrtimer() makes a period of the frequency, period_left is kept while the
 * thread does not run, hrtimer_forward_now() skips what it is late for). Where in a period an
 * activation begins is chance: one that takes c periods has floor(c) samples or one more, c on
 * average, and the variance is that of its last part. But the timer runs on from one to the next:
 * where the time between them is short, what is by chance is how many samples fall there.
 *
 * Nothing is by chance in a new thread: its event is new as well, and has its first sample after a
 * whole period (perf_event_alloc() sets period_left). Of 300 processes that take 4 ms each, a clock
 * of 199 Hz sees none.
 *
 * A virtual machine's CPU stands still while its host runs another. The timer expires once for all
 * that time, which is the thread's or not: a kernel with CONFIG_PARAVIRT_TIME_ACCOUNTING takes it
 * off, as far as the host has told of it yet; another CPU that looks at this one meanwhile finds it
 * running, and charges the thread (update_rq_clock_task()). So what is stolen may hide as many
 * samples as it has periods, and no more. Each stall leaves a gap on its CPU, which ends with the
 * timer's sample; what lacks elsewhere is no stall's doing, and nobody can tell whose it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/oracle.h"
#include "validators/cpu_sum.h"

/*
 * The event's time is not quite the thread's. While the kernel switches to a thread, or away from
 * it, the event is off: 30 us of a slice where many threads share a CPU, 4 % of their time in the
 * worst case (growth, crowd).
 */
static const double OFF = 0.05;
/* An event that leaves out the kernel has no samples of system calls and page faults, and nobody
 * counts that time: 11 % of it where page tables are copied all the time (loss, storm.forks.user).
 */
static const double OFF_IN_KERNEL = 0.16;
/* A host that stops a CPU within the timer's handler, behind the time that the sample has, loses
 * the next samples, and the timer goes on in step: hrtimer_forward_now() comes last. So much of
 * each sample's time is the handler's, measured with a dump of 8 KiB; 3 gaps of 2,696 samples were
 * so where a host told of 10 ms, and 3 of 3,437 where it told of nothing. */
static const double HANDLER_NS = 18e3;
/* Standard deviations: one false alarm in 100,000 for each thread that is asked. */
static const double SIGMAS = 4.5;

static const struct jp_role seen = {.column = "seen"};
static const struct jp_role to_be_seen = {.column = "seen", .total = true};

struct cpu_time {
	const struct jp_evidence *evidence;
	struct jp_view *view;
	const struct jp_truth_activation *hint;
	struct jp_cpu_count *counts; /* of each activation of the truth */
	uint64_t period, lost;
	struct jp_map throttled; /* event id -> since when; 0: it is not */
	struct jp_map born; /* threads that the capture saw begin: their events began with them */
	struct jp_map last; /* CPU -> when its last sample was */
	struct jp_map threads; /* tid -> the same */
	struct jp_map usual;   /* how long activations take */
	double stolen;         /* samples for which the host took the time */
	double untold;         /* samples for which it may have, and not have told of it */
	double handled;   /* of the more of both, what a stop of the timer's handler may lose */
	char unsure[400]; /* where what it took leaves too little to tell: the first of these */
	uint64_t stopped; /* ns for which the kernel throttled events, all together */
	uint32_t attr;
	bool sampled, steady; /* a sample came; all had one period */
	bool in_kernel;       /* one was of the kernel */
	bool kernel;          /* as it was asked for: a timer in the kernel gives one, too */
	uint64_t samples;     /* all of the event, within activations and outside */
	uint64_t forks;       /* records of tasks that began */
	double gaps;          /* samples that jp_cpu_gap() has room for outside of activations */
	bool failed;          /* an exception was found: what else is unsure does not matter */
	uint32_t cpus;
};

/* Whether it lies wholly in a window in which samples are taken of its process. */
static bool watched(const struct cpu_time *cpu, const struct jp_truth_activation *activation)
{
	const uint64_t slack = cpu->evidence->info.slack;
	uint64_t from, to;

	for (size_t at = 0; jp_evidence_window(cpu->evidence, activation->pid, &at, &from, &to);)
		if (activation->enter >= from + slack && activation->leave + slack <= to)
			return true;
	return false;
}

/* The gap since the last sample of the thread, whose @activation is the last that began. */
static int see_gap(struct cpu_time *cpu, const struct jp_event *event,
		   const struct jp_truth_activation *activation)
{
	const struct jp_truth *truth = cpu->evidence->truth;
	uint64_t *last = jp_map_at(&cpu->threads, event->tid, sizeof(*last));

	if (!last)
		return -ENOMEM;
	/* Where the truth's clock differs by more, a gap of two periods may be one of one. */
	if (*last && activation && cpu->steady && cpu->period > 8 * cpu->evidence->info.slack)
		jp_cpu_count_gap(&cpu->counts[activation - truth->activations], truth, &cpu->usual,
				 activation, *last, event->time, (double)cpu->period);
	*last = event->time;
	return 0;
}

static int see_sample(struct cpu_time *cpu, const struct jp_event *event)
{
	const struct jp_truth *truth = cpu->evidence->truth;
	const uint64_t slack = cpu->evidence->info.slack;
	const struct jp_truth_activation *activation;
	struct jp_cpu_count *count;
	uint64_t *last, since;

	if (!cpu->sampled) {
		cpu->sampled = cpu->steady = true;
		cpu->period = event->sample.period;
		cpu->attr = event->attr;
	}
	/* Of several events the first counts. */
	if (event->attr != cpu->attr)
		return 0;
	last = jp_map_at(&cpu->last, event->cpu, sizeof(*last));
	if (!last)
		return -ENOMEM;
	since = *last;
	*last = event->time;
	cpu->steady &= event->sample.period == cpu->period;
	cpu->in_kernel |= !event->sample.user;
	cpu->kernel |= event->asked && event->asked->kernel;
	cpu->cpus = event->cpu < cpu->cpus ? cpu->cpus : event->cpu + 1;
	cpu->samples++;
	activation = cpu->hint =
		jp_truth_activation_at(truth, cpu->hint, event->tid, event->time + slack);
	if (see_gap(cpu, event, activation))
		return -ENOMEM;
	if (!activation || event->time > activation->leave + slack) {
		cpu->gaps += jp_cpu_gap(since ?: event->time, event->time, (double)cpu->period);
		return 0;
	}
	count = &cpu->counts[activation - truth->activations];
	/* Of a double in a stream validators/sample_doubles.c tells: it is a fault of its own. */
	if (event->observed && count->last == event->time)
		return 0;
	since = jp_max(since, count->last ?: activation->enter);
	if (cpu->steady && cpu->period) {
		count->gaps += jp_cpu_gap(since, event->time, (double)cpu->period);
		count->own += jp_cpu_gap(count->last ?: activation->enter, event->time,
					 (double)cpu->period);
	}
	count->last = event->time;
	count->all++;
	count->inner += event->time >= activation->inside + slack &&
			event->time + slack <= activation->leave;
	return 0;
}

/* The kernel stops an event that samples too often, until its next tick, and says so. */
static int see_throttle(struct cpu_time *cpu, const struct jp_event *event)
{
	uint64_t *since = jp_map_at(&cpu->throttled, event->id, sizeof(*since));

	if (!since)
		return -ENOMEM;
	if (event->record_type == JP_PERF_RECORD_THROTTLE) {
		*since = event->time;
	} else if (*since) {
		cpu->stopped += event->time - *since;
		*since = 0;
	}
	return 0;
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct cpu_time *cpu = view->state;

	if (event->record_type == JP_PERF_RECORD_THROTTLE ||
	    event->record_type == JP_PERF_RECORD_UNTHROTTLE)
		return see_throttle(cpu, event);
	switch (event->type) {
	case JP_EVENT_SAMPLE:
		return see_sample(cpu, event);
	case JP_EVENT_FORK:
		cpu->forks++;
		return jp_map_at(&cpu->born, event->tid, 0) ? 0 : -ENOMEM;
	case JP_EVENT_LOST:
	case JP_EVENT_LOST_SAMPLES:
		cpu->lost += event->lost.lost;
		break;
	default:
		break;
	}
	return 0;
}

/* Samples are lacking, and the host took more time than that: whether they were lost, too, nobody
 * can tell. */
static void note_unsure(struct cpu_time *cpu, const struct jp_cpu_sum *sum, const char *what,
			uint32_t number)
{
	if (!*cpu->unsure)
		snprintf(cpu->unsure, sizeof(cpu->unsure),
			 "too little evidence: the host took %.0f %% of the CPUs, as much as %.1f "
			 "samples; %s %u has %" PRIu64 " in %" PRIu64
			 " activations, by their CPU time there are %.1f, and gaps explain %.1f",
			 100 * jp_watched_stolen_share(&cpu->evidence->watched), cpu->stolen, what,
			 number, sum->all, sum->activations, sum->expected, sum->hidden);
}

/* The timer goes on in time that the host takes from a virtual machine, which is none of the
 * thread's: so there may be more than by CPU time, but never more than by the clock, nor than the
 * host took of all CPUs, where the runner asked: each CPU's is told in ticks, and rounded down. */
static double most_by_cpu(const struct cpu_time *cpu, const struct jp_cpu_sum *sum)
{
	const struct jp_watched_info *watched = &cpu->evidence->watched;
	const double own = sum->expected * (1 + OFF), clock = fmax(own, sum->on);
	const double taken = jp_watched_stolen(watched) + JP_STOLEN_TICK * (double)watched->cpus;

	return watched->silent ? fmin(clock, own + taken / (double)cpu->period) : clock;
}

/* Compares what there is with what must be; @missing more may be lacking. Returns -ENOMEM, or
 * whether it had something to say. */
static int judge_sum(struct cpu_time *cpu, const struct jp_cpu_sum *sum, double missing,
		     const char *what, uint32_t number)
{
	/* Where a timer was in its period when the first of them began, and the last one ended. */
	double chance = SIGMAS * sqrt(sum->variance + 1);
	double sure = sum->due - chance - missing - cpu->stolen;
	double least =
		sum->due - chance - missing - fmin(sum->hidden, fmax(cpu->stolen, cpu->untold));
	double most = most_by_cpu(cpu, sum) + chance;
	const char *cause = (double)sum->all < least    ? "too-few"
			    : (double)sum->inner > most ? "too-many"
							: NULL;

	if (!cause)
		return 0;
	if ((double)sum->all < least && (double)sum->all >= sure) {
		note_unsure(cpu, sum, what, number);
		return 1;
	}
	cpu->failed = true;
	return jp_findings_except(&cpu->view->findings, "cpu.samples", cause,
				  "%s %u: %" PRIu64 " samples in %" PRIu64
				  " activations, by their CPU time there are %.1f, %.1f to %.1f",
				  what, number, sum->all, sum->activations, sum->expected,
				  least > 0 ? least : 0, most)
		       ?: 1;
}

/*
 * Of activations that stayed on their CPU each has its samples, but for few: what chance does to
 * the sum above, it does not do to them. Where each tenth sample is gone, one in ten has too few.
 * A host stops one of any length: those of a whole period may be just the ones that it made long.
 * Where it took time nothing is claimed of as many samples: the sum tells. A timer that expires in
 * the kernel gives no sample where those of the kernel are not asked for.
 */
static int judge_stayed(struct cpu_time *cpu, const struct jp_cpu_sum *sum, double missing,
			const char *what, uint32_t number)
{
	const double usual = jp_cpu_odd_most(sum->stayed, SIGMAS) + cpu->stolen;
	const bool few = cpu->kernel && (double)sum->lacking > usual + missing;

	if (!few && (double)sum->surplus <= usual)
		return 0;
	cpu->failed = true;
	return jp_findings_except(&cpu->view->findings, "cpu.samples", few ? "too-few" : "too-many",
				  "%s %u: %" PRIu64 " of %" PRIu64
				  " activations that stayed on their CPU have %s whole periods of "
				  "their CPU time, at most %.0f may",
				  what, number, few ? sum->lacking : sum->surplus,
				  few ? sum->whole : sum->stayed,
				  few ? "fewer samples than" : "more than one sample beyond",
				  few ? usual + missing : usual)
		       ?: 1;
}

/* Of those that lack a sample, whatever a host took: it gives a CPU back with a sample. */
static int judge_overdue(struct cpu_time *cpu, const struct jp_cpu_sum *sum, double missing,
			 const char *what, uint32_t number)
{
	const double most = jp_cpu_overdue_most(sum->whole) + missing;

	if (!cpu->kernel || (double)sum->overdue <= most)
		return 0;
	cpu->failed = true;
	return jp_findings_except(&cpu->view->findings, "cpu.samples", "overdue",
				  "%s %u: %" PRIu64 " of %" PRIu64
				  " activations that stayed on their CPU for a period or more lack "
				  "a sample at their end, where at most %.0f may",
				  what, number, sum->overdue, sum->whole, most)
		       ?: 1;
}

/* Of all that stayed: a sample that is taken away leaves a gap of whole periods, wherever it is. A
 * host that takes its time leaves such a gap only where it stops the timer's handler. */
static int judge_skipped(struct cpu_time *cpu, const struct jp_cpu_sum *sum, double missing,
			 const char *what, uint32_t number)
{
	const double most = jp_cpu_skipped_most(sum->late, SIGMAS) + missing +
			    fmin((double)sum->stood, cpu->handled);

	if (!cpu->kernel || (double)sum->skipped <= most)
		return 0;
	cpu->failed = true;
	return jp_findings_except(&cpu->view->findings, "cpu.samples", "skipped",
				  "%s %u: in %" PRIu64
				  " activations that stayed on their CPU %" PRIu64
				  " gaps between samples are of whole periods, where at most %.0f "
				  "may, and %" PRIu64 " of other lengths",
				  what, number, sum->stayed, sum->skipped, most, sum->late);
}

/* One fault of a thread is told once. */
static int judge(struct cpu_time *cpu, const struct jp_cpu_sum *sum, double missing,
		 const char *what, uint32_t number)
{
	const int said = judge_sum(cpu, sum, missing, what, number)
				 ?: judge_stayed(cpu, sum, missing, what, number)
				 ?: judge_overdue(cpu, sum, missing, what, number);

	if (said)
		return said < 0 ? said : 0;
	return judge_skipped(cpu, sum, missing, what, number);
}

struct process_sum {
	uint32_t pid;
	struct jp_cpu_sum sum;
};

static int by_pid(const void *a, const void *b)
{
	const struct process_sum *one = a, *other = b;

	return (one->pid > other->pid) - (one->pid < other->pid);
}

/* Threads of one process together. */
static int judge_processes(struct cpu_time *cpu, struct process_sum *threads, size_t count,
			   double missing)
{
	int failed = 0;

	if (count)
		qsort(threads, count, sizeof(*threads), by_pid);
	for (size_t i = 0, next; i < count && !failed; i = next) {
		struct jp_cpu_sum sum = {0};

		for (next = i; next < count && threads[next].pid == threads[i].pid; next++)
			jp_cpu_sum_join(&sum, &threads[next].sum);
		if (next - i > 1)
			failed = judge(cpu, &sum, missing, "process", threads[i].pid);
	}
	return failed;
}

/* The activations of one thread, from the one at @i on, that are in a window. Returns where the
 * next thread's begin. */
static size_t sum_thread(const struct cpu_time *cpu, size_t i, double period,
			 struct jp_cpu_sum *sum)
{
	const struct jp_truth *truth = cpu->evidence->truth;
	const struct jp_truth_activation *first = &truth->activations[i], *last = NULL;

	for (; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *one = &truth->activations[i];

		if (one->tid != first->tid || one->pid != first->pid)
			break;
		if (one->cpu == UINT64_MAX || !watched(cpu, one)) {
			jp_cpu_sum_cut(sum, one, period, &cpu->counts[i]);
			continue;
		}
		jp_cpu_sum_add(sum, one, last ? (double)(one->inside - last->leave) / period : 1,
			       period, &cpu->counts[i]);
		last = one;
	}
	jp_cpu_sum_settle(sum, cpu->cpus, cpu->in_kernel ? OFF : OFF_IN_KERNEL,
			  jp_map_find(&cpu->born, first->tid));
	return i;
}

/* How many tasks there were, by the truth or by the capture: one alone knows of a helper, the other
 * alone of those that no record tells of. */
static uint64_t count_tasks(const struct cpu_time *cpu)
{
	const struct jp_truth *truth = cpu->evidence->truth;
	uint64_t count = 0;

	for (size_t i = 0; i < truth->nr_acts; i++)
		count += truth->acts[i].type == JP_EVENT_FORK ||
			 truth->acts[i].type == JP_EVENT_EXEC;
	return jp_max(count, cpu->forks);
}

/*
 * What the events counted is in samples, but for the last part of a period of each task on each
 * CPU, for what activations lack, for @missing samples, for the time that a host took, and for what
 * switching away from a thread costs: cpu_clock_event_stop() notes what is left of the period, has
 * the timer cancelled, which a virtual machine must ask its host for, and counts up only then (17
 * ms of 402 where each sample was followed by a switch): nothing where threads stayed. An event
 * that leaves out the kernel counts its time, and has no samples there. Outside of activations
 * nobody knows for how long a CPU stood still in a gap: it may have been for all of it. The same
 * holds of an activation that lies across a border of a window.
 */
static int judge_counted(struct cpu_time *cpu, const struct jp_cpu_sum *all, double period,
			 double missing)
{
	const struct jp_capture_info *info = &cpu->evidence->info;
	const double counted = (double)info->counted / period;
	const double parts = (double)(count_tasks(cpu) * jp_max(info->cpus, cpu->cpus));
	const double hidden = fmax(cpu->stolen, cpu->untold);
	/* Of two events for one thread the samples were dropped of one, and counted. */
	const double events = info->duplicates ? 2 : 1;
	const double most = (double)(cpu->samples + info->duplicates) + missing +
			    events * (all->lack + all->cut + parts + hidden + cpu->gaps) +
			    OFF * fmax(counted - all->staying, 0);

	if (cpu->failed || *cpu->unsure || !cpu->in_kernel || counted <= most)
		return 0;
	return jp_findings_except(&cpu->view->findings, "event.samples", "too-few",
				  "%" PRIu64
				  " samples; by what the events counted there are %.1f, at "
				  "most %.1f of which have none",
				  cpu->samples, counted, most - (double)cpu->samples);
}

/* Each thread, each process, and the case as a whole. */
static int judge_all(struct cpu_time *cpu, double period)
{
	const struct jp_truth *truth = cpu->evidence->truth;
	const double missing = (double)jp_max(cpu->lost, cpu->evidence->info.lost_samples) +
			       (double)cpu->stopped / period;
	struct process_sum *threads = NULL;
	size_t count = 0, capacity = 0;
	struct jp_cpu_sum all = {0};
	double hidden;
	int failed = 0;

	for (size_t i = 0, next; i < truth->nr_activations && !failed; i = next) {
		const struct jp_truth_activation *first = &truth->activations[i];
		struct jp_cpu_sum sum = {0};
		struct process_sum *thread;

		next = sum_thread(cpu, i, period, &sum);
		jp_cpu_sum_join(&all, &sum);
		if (!sum.activations && !sum.stayed)
			continue;
		thread = jp_array_push(&threads, &count, &capacity);
		if (thread)
			*thread = (struct process_sum){first->pid, sum};
		failed = thread ? judge(cpu, &sum, missing, "thread", first->tid) : -ENOMEM;
	}
	failed = failed ?: judge_processes(cpu, threads, count, missing);
	if (!failed && count > 1)
		failed = judge(cpu, &all, missing, "case of threads", (uint32_t)count);
	failed = failed ?: judge_counted(cpu, &all, period, missing);
	free(threads);
	if (!cpu->failed && *cpu->unsure)
		memcpy(cpu->view->findings.error, cpu->unsure, sizeof(cpu->unsure));
	jp_findings_add_count(&cpu->view->findings, "cpu.stalls", all.nr_stalls);
	jp_findings_add_rate(&cpu->view->findings, "cpu.lacking", all.lacking, all.whole);
	jp_findings_add_rate(&cpu->view->findings, "cpu.overdue", all.overdue, all.whole);
	jp_findings_add_rate(&cpu->view->findings, "cpu.surplus", all.surplus, all.stayed);
	jp_findings_add_rate(&cpu->view->findings, "cpu.skipped", all.skipped,
			     all.skipped + all.late);
	hidden = fmin(all.hidden, cpu->stolen);
	if (cpu->stolen > 0)
		jp_findings_add_rate(&cpu->view->findings, "cpu.stolen", (uint64_t)hidden,
				     (uint64_t)cpu->stolen);
	jp_findings_add_as(&cpu->view->findings, &seen, jp_metric_count("cpu.samples", all.all));
	jp_findings_add_as(
		&cpu->view->findings, &to_be_seen,
		jp_metric_count("cpu.expected", (uint64_t)(fmax(all.expected - hidden, 0) + 0.5)));
	return failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const double stolen = jp_watched_stolen(&view->evidence->watched);
	struct cpu_time *cpu = view->state;
	const struct jp_capture_info *info = &cpu->evidence->info;
	double period = cpu->steady ? (double)cpu->period : 0;

	if (!cpu->sampled && info->frequency)
		period = 1e9 / (double)info->frequency;
	else if (!cpu->sampled)
		period = (double)cpu->evidence->declared.period;
	/* An event whose period changes counts something else than time. */
	if (period <= 0)
		return 0;
	cpu->stolen = stolen > 0 ? (stolen + JP_STOLEN_TICK) / period : 0;
	cpu->untold = JP_STOLEN_TICK / period;
	cpu->handled = fmax(cpu->stolen, cpu->untold) * fmin(HANDLER_NS / period, 1);
	return judge_all(cpu, period);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	const struct jp_truth *truth = evidence->truth;
	struct cpu_time *cpu;
	int failed = 0;

	/* Older truths have no CPU time; a breakpoint is no clock; a witness knows better. */
	if (jp_evidence_is_witnessed(evidence) || truth->version < JP_TRUTH_VERSION_CPU ||
	    evidence->info.breakpoints)
		return 0;
	cpu = view->state = calloc(1, sizeof(*cpu));
	if (!cpu)
		return -ENOMEM;
	cpu->evidence = evidence;
	cpu->view = view;
	cpu->counts = calloc(evidence->truth->nr_activations + 1, sizeof(*cpu->counts));
	for (size_t i = 0; i < truth->nr_activations && !failed; i++)
		if (watched(cpu, &truth->activations[i]))
			failed = jp_cpu_usual_add(&cpu->usual, &truth->activations[i]);
	return cpu->counts ? failed : -ENOMEM;
}

static void free_cpu_time(void *state)
{
	struct cpu_time *cpu = state;

	jp_map_free(&cpu->throttled);
	jp_map_free(&cpu->born);
	jp_map_free(&cpu->last);
	jp_map_free(&cpu->threads);
	jp_map_free(&cpu->usual);
	free(cpu->counts);
	free(cpu);
}

static const struct jp_validator cpu_time = {
	.name = "cpu_time",
	.help = "has each thread as many samples as the CPU time that it took within its paths "
		"says?",
	.traits = JP_LACKS_ALL & ~(JP_LACKS_TIME | JP_LACKS_THREADS),
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_cpu_time,
};
JP_REGISTER(validator, cpu_time);
