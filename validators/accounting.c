// SPDX-License-Identifier: GPL-2.0-only
/* Accounting: every sample and every record of a file belongs to exactly one class, and the classes
 * add up to the number that the file's reader counted. A sample of a thread in an activation must
 * lie in the activation's code, in a signal handler that interrupted it, or in the kernel. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/order.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"
#include "validators/sample_class.h"
#include "validators/two_clocks.h"

enum { KINDS = JP_PERF_RECORD_CALLCHAIN_DEFERRED + 1 };
enum owner { KERNEL, WATCHED, OTHER, OWNERS };
enum judged_file { CAPTURED, INJECTED, FILES };

/* Samples that no thread can have produced. */
static const struct jp_role impossible = {.column = "invented"};

static const char *const kinds[KINDS] = {
	NULL,         "mmap",         "lost",      "comm",       "exit",       "throttle",
	"unthrottle", "fork",         "read",      NULL,         "mmap2",      "aux",
	"itrace",     "lost_samples", "switch",    "switch_cpu", "namespaces", "ksymbol",
	"bpf",        "cgroup",       "text_poke", "aux_hw_id",  "deferred",
};
static const char *const owners[OWNERS] = {"kernel", "watched", "other"};

/* The samples of one class: their number, and a description of the first. */
struct sample_tally {
	uint64_t count, kernel; /* @kernel: how many of @count were taken in the kernel */
	char example[160];
};

/* Samples taken while the capture was enabling, or disabling, its events one after the other, and
 * when it began and ended to do so, in ns. */
struct switching {
	uint64_t start, end, samples;
};

struct accounting {
	struct jp_view *view;
	struct jp_sample_facts_of facts_of;
	struct sample_tally samples[FILES][JP_SAMPLE_CLASSES];
	struct jp_map ended; /* threads with an EXIT record, while the capture is judged */
	uint64_t nr_ended;   /* samples of class JP_SAMPLE_KERNEL after that record */
	uint64_t impossible; /* samples of the capture in impossible places */
	uint64_t period;     /* shortest period of the samples outside of the window, in ns */
	struct switching switching[2]; /* [0]: while enabling; [1]: while disabling */
	uint64_t records[FILES][KINDS][OWNERS];
	uint64_t digest[FILES]; /* sum of the digests of all samples */
};

static void count_samples_while_switching(struct accounting *state, const struct jp_event *event)
{
	const uint64_t slack = state->view->evidence->info.slack;

	if (state->view->in_injected || !event->sample.period)
		return;
	state->period = jp_min(state->period ?: UINT64_MAX, event->sample.period);
	for (struct switching *switching = state->switching; switching < state->switching + 2;
	     switching++)
		switching->samples += event->time + slack >= switching->start &&
				      event->time <= switching->end + slack;
}

/* Returns how many samples the CPUs can take while events are being enabled or disabled. */
static uint64_t compute_most_switching_samples(const struct accounting *state)
{
	uint64_t total = 0;

	for (const struct switching *switching = state->switching; switching < state->switching + 2;
	     switching++)
		if (switching->samples)
			total += jp_min(switching->samples,
					((switching->end - switching->start) / state->period + 1) *
						state->view->evidence->watched.cpus);
	return total;
}

static void count_sample(struct accounting *state, const struct jp_event *event)
{
	struct jp_sample_facts facts;
	enum jp_sample_class class;
	struct sample_tally *tally;
	uint64_t ip = 0, sp = 0;
	bool has_user = jp_machine_user(state->view->machine, event, &ip, &sp);

	facts = jp_sample_facts(&state->facts_of, event, has_user, ip, sp);
	class = jp_sample_classify(&facts);
	if (class == JP_SAMPLE_OUTSIDE)
		count_samples_while_switching(state, event);
	state->digest[state->view->in_injected ? INJECTED : CAPTURED] += jp_sample_digest(event);
	tally = &state->samples[state->view->in_injected ? INJECTED : CAPTURED][class];
	tally->kernel += !event->sample.user;
	state->nr_ended += class == JP_SAMPLE_KERNEL && !state->view->in_injected &&
			   jp_ended_threads_have(&state->ended, event);
	if (!tally->count++)
		snprintf(tally->example, sizeof(tally->example),
			 "at %" PRIu64 ", %u/%u, ip %" PRIx64 " sp %" PRIx64, event->time,
			 event->pid, event->tid, has_user ? ip : event->sample.ip, sp);
}

static int count_record(struct accounting *state, const struct jp_event *event)
{
	enum owner owner = OTHER;

	if (event->record_type >= KINDS)
		return 0;
	if (event->kernel_map || !event->pid || event->pid == UINT32_MAX)
		owner = KERNEL;
	else if (jp_sample_is_watched(state->view->evidence, event->pid, UINT64_MAX))
		owner = WATCHED;
	state->records[state->view->in_injected ? INJECTED : CAPTURED][event->record_type][owner]++;
	return state->view->in_injected ? 0 : jp_ended_threads_note(&state->ended, event);
}

static int handle_event(struct jp_view *view, const struct jp_event *event)
{
	if (event->type != JP_EVENT_SAMPLE)
		return count_record(view->state, event);
	count_sample(view->state, event);
	return 0;
}

static int add_samples(const struct accounting *state, enum judged_file file, const char *name,
		       const struct jp_perfdata_summary *summary)
{
	struct jp_account *account = jp_accounts_open(&state->view->findings.accounts, name);
	int failed = account ? 0 : -ENOMEM;

	if (account)
		account->total = summary->samples;
	for (enum jp_sample_class class = 0; class < JP_SAMPLE_CLASSES && !failed; class ++)
		failed = jp_account_count(account, jp_sample_class_text(class),
					  state->samples[file][class].count);
	return failed;
}

static int add_records(const struct accounting *state, enum judged_file file, const char *name,
		       const struct jp_perfdata_summary *summary)
{
	struct jp_account *account = jp_accounts_open(&state->view->findings.accounts, name);
	uint64_t samples = 0;
	char class[32];
	int failed = account ? 0 : -ENOMEM;

	for (int i = 0; i < JP_SAMPLE_CLASSES; i++)
		samples += state->samples[file][i].count;
	if (!failed) {
		account->total = summary->records;
		failed = jp_account_count(account, "samples", samples)
				 ?: jp_account_count(account, "perf's own", summary->own_records)
				 ?: jp_account_count(account, "unknown", summary->unknown_records);
	}
	for (int kind = 0; kind < KINDS; kind++) {
		for (int owner = 0; owner < OWNERS && !failed; owner++) {
			snprintf(class, sizeof(class), "%s.%s", kinds[kind] ?: "?", owners[owner]);
			failed =
				jp_account_count(account, class, state->records[file][kind][owner]);
		}
	}
	return failed;
}

/* Returns an upper bound of the share of the activations' CPU time that native code takes to enter
 * them, mostly for page faults and for writing the truth. The bound uses elapsed time, which is at
 * least the code's CPU time. The CPU time also has the reading of its clock after the activation,
 * which takes as long as a short path: then the elapsed time of the path is less. */
static double find_boundary_share(const struct jp_truth *truth)
{
	double entering = 0, cpu = 0;

	for (size_t i = 0; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *activation = &truth->activations[i];

		if (activation->cpu == UINT64_MAX || activation->called > activation->leave)
			continue;
		entering += (double)(activation->called - activation->enter);
		cpu += (double)jp_min(activation->cpu, activation->leave - activation->called);
	}
	return entering + cpu > 0 ? entering / (entering + cpu) : 0;
}

/* Returns whether the samples of @class among @n samples are more than the witness's share of such
 * samples explains. Elapsed time is no bound: an interrupt that becomes due while the kernel has
 * interrupts off samples what follows. Of JP_SAMPLE_ASTRAY, only samples in user space are
 * compared, because the witness does not know from where the kernel was entered, and by disjoint
 * intervals of the shares: a usual witness has none, with which a few could be chance. */
static bool is_beyond_witness(const struct accounting *state, enum jp_sample_class class,
			      uint64_t n)
{
	const struct sample_tally *tally = &state->samples[CAPTURED][class];
	const uint64_t user = tally->count - tally->kernel;
	struct jp_sample_native counts;
	uint64_t border[2];
	double odds;

	if (class != JP_SAMPLE_EDGE && class != JP_SAMPLE_BELOW && class != JP_SAMPLE_ASTRAY)
		return true;
	jp_sample_count_witnessed(state->view->evidence, &counts);
	if (!counts.within)
		return true;
	odds = (double)n / (double)counts.within;
	for (int kernel = 0; kernel < 2; kernel++)
		border[kernel] = class == JP_SAMPLE_EDGE ? counts.border[kernel]
				 : class == JP_SAMPLE_BELOW
					 ? counts.native[kernel]
					 : counts.native[kernel] - counts.border[kernel];
	if (class == JP_SAMPLE_ASTRAY)
		return jp_metric_rate("", tally->kernel, n).lo > JP_SAMPLE_ASTRAY_USUAL ||
		       jp_metric_rate("", user, n).lo >
			       jp_metric_rate("", border[0], counts.within).hi;
	return jp_witness_is_beyond_chance(user, border[0], odds) ||
	       jp_witness_is_beyond_chance(tally->kernel, border[1], odds);
}

/* Adds the share of @class among @n samples, without samples of ended threads. Reports an exception
 * if it exceeds @max. */
static int add_share(struct accounting *state, enum jp_sample_class class, uint64_t n, double max)
{
	const struct sample_tally *tally = &state->samples[CAPTURED][class];
	const uint64_t nr_ended = class == JP_SAMPLE_KERNEL ? state->nr_ended : 0;
	struct jp_findings *findings = &state->view->findings;
	const char *text = jp_sample_class_text(class);
	struct jp_exception *exception;
	struct jp_metric metric;
	char name[48];

	snprintf(name, sizeof(name), "samples.%s", text);
	metric = jp_metric_rate(name, tally->count - nr_ended, n);
	jp_findings_add(findings, metric);
	/* Allow 4.5 standard deviations, because there are few boundary samples. */
	if (!n || metric.lo <= max ||
	    (class == JP_SAMPLE_EDGE &&
	     (double)metric.k <= max * (double)n + 4.5 * sqrt(max * (double)n + 1)) ||
	    (class == JP_SAMPLE_OUTSIDE && metric.k <= compute_most_switching_samples(state)) ||
	    !is_beyond_witness(state, class, n))
		return 0;
	exception = jp_findings_count(findings, "samples", JP_METHODS, text);
	if (!exception)
		return -ENOMEM;
	exception->count = metric.k;
	state->impossible +=
		class == JP_SAMPLE_ASTRAY || class == JP_SAMPLE_UNWATCHED ? tally->count : 0;
	snprintf(exception->example, sizeof(exception->example), "%s; at most %.1f %% are usual",
		 tally->example, 100 * max);
	return 0;
}

/* Adds the share of each class, with its upper bound (sample_class.h). Some samples are expected of
 * processes that have not announced themselves. Samples outside of the window are bounded by the
 * time in which events are enabled and disabled alone. */
static int add_shares(struct accounting *state)
{
	static const double old_edge = 0.05, kernel = 0.003;
	const double unwatched =
		state->view->evidence->declared.system_wide ? 1 : JP_SAMPLE_UNWATCHED_USUAL;
	const struct jp_truth *truth = state->view->evidence->truth;
	const struct sample_tally *samples = state->samples[CAPTURED];
	/* Use the expected number: missing samples in emitted code must not raise the shares. */
	uint64_t within =
		jp_max(samples[JP_SAMPLE_CODE].count + samples[JP_SAMPLE_ASTRAY].count +
			       samples[JP_SAMPLE_EDGE].count + samples[JP_SAMPLE_BELOW].count,
		       jp_clock_count_expected_samples(state->view->evidence));
	uint64_t total = state->view->summary->samples;
	double edge = truth->version < JP_TRUTH_VERSION_CPU
			      ? old_edge
			      : find_boundary_share(truth) + JP_SAMPLE_ASTRAY_USUAL;
	int failed = add_share(state, JP_SAMPLE_ASTRAY, within, JP_SAMPLE_ASTRAY_USUAL)
		       ?: add_share(state, JP_SAMPLE_BELOW, within, JP_SAMPLE_BELOW_USUAL)
		       ?: add_share(state, JP_SAMPLE_EDGE, within, edge)
		       ?: add_share(state, JP_SAMPLE_OUTSIDE, total, 0)
		       ?: add_share(state, JP_SAMPLE_KERNEL, total, kernel)
		       ?: add_share(state, JP_SAMPLE_UNWATCHED, total, unwatched);

	jp_findings_add_role_count(&state->view->findings, &impossible, "samples.impossible",
				   state->impossible);
	return failed;
}

/* Compares the samples before and after inject, which must not change any. */
static int compare_injected_samples(struct accounting *state)
{
	int failed = 0;

	for (enum jp_sample_class class = 0; class < JP_SAMPLE_CLASSES && !failed; class ++) {
		uint64_t before = state->samples[CAPTURED][class].count;
		uint64_t after = state->samples[INJECTED][class].count;

		if (before != after)
			failed = jp_findings_count_failure(
				&state->view->findings, "samples.injected", "changed",
				"perf.data has %" PRIu64
				" samples of class %s, injected.data %" PRIu64,
				before, jp_sample_class_text(class), after);
	}
	if (!failed && state->digest[CAPTURED] != state->digest[INJECTED])
		failed =
			jp_findings_count_failure(&state->view->findings, "samples.injected",
						  "altered", "the samples of injected.data differ");
	return failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct accounting *state = view->state;
	int failed = add_samples(state, CAPTURED, "samples", view->summary);

	/* Only a perf.data has records. */
	if (!failed && !view->evidence->declared.observed)
		failed = add_records(state, CAPTURED, "records", view->summary);
	failed = failed ?: add_shares(state);

	if (failed || !view->in_injected)
		return failed;
	return add_samples(state, INJECTED, "injected samples", view->injected_summary)
		       ?: add_records(state, INJECTED, "injected records", view->injected_summary)
		       ?: compare_injected_samples(state);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_capture_info *info = &view->evidence->info;
	struct accounting *state = view->state;

	/* A profiler does not state when it enabled its first event: at its start or later. */
	state->switching[0] = (struct switching){
		info->first_enabled ?: view->evidence->watched.started ?: UINT64_MAX,
		info->sampling, 0};
	state->switching[1] = (struct switching){info->stopped, view->evidence->watched.silent, 0};
	return jp_sample_facts_begin(&state->facts_of, state->view->evidence);
}

static void free_accounting(void *context)
{
	struct accounting *state = context;

	jp_map_free(&state->ended);
	jp_sample_facts_end(&state->facts_of);
}

JP_DEFINE(validator, accounting_validator) = {
	.name = "accounting",
	.traits = JP_WANTS_INJECTED | JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES |
		  JP_LACKS_MAPPINGS | JP_LACKS_TASKS,
	.state_size = sizeof(struct accounting),
	.begin = begin,
	.handle = handle_event,
	.end = end,
	.free = free_accounting,
};
