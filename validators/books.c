// SPDX-License-Identifier: GPL-2.0-only
/* Accounting: every sample and every record of a file belongs to exactly one class, and the classes
 * add up to the reader's counts. A sample of a thread in an activation lies in the activation's
 * code, in a handler over it, or in the kernel; any other place is a fault (astray). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/order.h"
#include "harness/format/perfdata/format.h"
#include "harness/judge/validator.h"
#include "validators/digest.h"
#include "validators/sample_class.h"
#include "validators/two_clocks.h"

enum { KINDS = JP_PERF_RECORD_CALLCHAIN_DEFERRED + 1 };
enum owner { KERNEL, WATCHED, OTHER, OWNERS };
enum books_of { CAPTURED, INJECTED, FILES };

/* Counts samples that no thread can have given. */
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
	uint64_t count;
	char first[160];
};

/* Samples taken while events were switched on or off, and the time that this took. */
struct switching {
	uint64_t from, to, samples;
};

struct books {
	const struct jp_evidence *evidence;
	struct jp_view *view;
	struct jp_sample_facts_of facts_of;
	struct sample_tally samples[FILES][JP_SAMPLE_CLASSES];
	uint64_t impossible; /* samples of the capture in places where they cannot be */
	uint64_t period;     /* shortest period of the samples outside of the window, in ns */
	struct switching switching[2]; /* on: from first event to last; off */
	uint64_t records[FILES][KINDS][OWNERS];
	uint64_t digest[FILES]; /* digests of all samples */
};

static void see_switching(struct books *books, const struct jp_event *event)
{
	const uint64_t slack = books->evidence->info.slack;

	if (books->view->in_injected || !event->sample.period)
		return;
	books->period = jp_min(books->period ?: UINT64_MAX, event->sample.period);
	for (struct switching *one = books->switching; one < books->switching + 2; one++)
		one->samples += event->time + slack >= one->from && event->time <= one->to + slack;
}

/* Returns how many samples the CPUs can take while events are switched. */
static uint64_t switching(const struct books *books)
{
	uint64_t all = 0;

	for (const struct switching *one = books->switching; one < books->switching + 2; one++)
		if (one->samples)
			all += jp_min(one->samples, ((one->to - one->from) / books->period + 1) *
							    books->evidence->watched.cpus);
	return all;
}

static void see_sample(struct books *books, const struct jp_event *event)
{
	struct jp_sample_facts facts;
	enum jp_sample_class class;
	struct sample_tally *found;
	uint64_t ip = 0, sp = 0;
	bool has = jp_machine_user(books->view->machine, event, &ip, &sp);

	facts = jp_sample_facts(&books->facts_of, event, has, ip, sp);
	class = jp_sample_class_of(&facts);
	if (class == JP_SAMPLE_OUTSIDE)
		see_switching(books, event);
	books->digest[books->view->in_injected ? INJECTED : CAPTURED] += jp_sample_digest(event);
	found = &books->samples[books->view->in_injected ? INJECTED : CAPTURED][class];
	if (!found->count++)
		snprintf(found->first, sizeof(found->first),
			 "at %" PRIu64 ", %u/%u, ip %" PRIx64 " sp %" PRIx64, event->time,
			 event->pid, event->tid, has ? ip : event->sample.ip, sp);
}

static void see_record(struct books *books, const struct jp_event *event)
{
	enum owner owner = OTHER;

	if (event->record_type >= KINDS)
		return;
	if (event->kernel_map || !event->pid || event->pid == UINT32_MAX)
		owner = KERNEL;
	else if (jp_sample_watched(books->evidence, event->pid, UINT64_MAX))
		owner = WATCHED;
	books->records[books->view->in_injected ? INJECTED : CAPTURED][event->record_type][owner]++;
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	if (event->type != JP_EVENT_SAMPLE) {
		see_record(view->state, event);
		return 0;
	}
	see_sample(view->state, event);
	return 0;
}

static int add_samples(const struct books *books, enum books_of file, const char *name,
		       const struct jp_perfdata_summary *held)
{
	struct jp_book *book = jp_books_open(&books->view->findings.books, name);
	int failed = book ? 0 : -ENOMEM;

	if (book)
		book->total = held->samples;
	for (enum jp_sample_class class = 0; class < JP_SAMPLE_CLASSES && !failed; class ++)
		failed = jp_book_count(book, jp_sample_class_text(class),
				       books->samples[file][class].count);
	return failed;
}

static int add_records(const struct books *books, enum books_of file, const char *name,
		       const struct jp_perfdata_summary *held)
{
	struct jp_book *book = jp_books_open(&books->view->findings.books, name);
	uint64_t samples = 0;
	char class[32];
	int failed = book ? 0 : -ENOMEM;

	for (int i = 0; i < JP_SAMPLE_CLASSES; i++)
		samples += books->samples[file][i].count;
	if (!failed) {
		book->total = held->records;
		failed = jp_book_count(book, "samples", samples)
				 ?: jp_book_count(book, "perf's own", held->own_records)
				 ?: jp_book_count(book, "unknown", held->unknown_records);
	}
	for (int kind = 0; kind < KINDS; kind++) {
		for (int owner = 0; owner < OWNERS && !failed; owner++) {
			snprintf(class, sizeof(class), "%s.%s", kinds[kind] ?: "?", owners[owner]);
			failed = jp_book_count(book, class, books->records[file][kind][owner]);
		}
	}
	return failed;
}

/* Returns the share of the time in activations that native code takes to enter them. Most of it is
 * page faults and writing the truth. Only CPU time counts; entering takes at most the time that
 * passes. */
static double edge_share(const struct jp_truth *truth)
{
	double edges = 0, cpu = 0;

	for (size_t i = 0; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *one = &truth->activations[i];

		if (one->cpu == UINT64_MAX || one->inside > one->leave)
			continue;
		edges += (double)(one->inside - one->enter);
		cpu += (double)one->cpu;
	}
	return edges + cpu > 0 ? edges / (edges + cpu) : 0;
}

/* Adds the share of @class. More than @most is a fault. */
static int add_share(struct books *books, enum jp_sample_class class, uint64_t n, double most)
{
	const struct sample_tally *found = &books->samples[CAPTURED][class];
	struct jp_findings *findings = &books->view->findings;
	const char *text = jp_sample_class_text(class);
	struct jp_exception *exception;
	struct jp_metric metric;
	char name[48];

	snprintf(name, sizeof(name), "samples.%s", text);
	metric = jp_metric_rate(name, found->count, n);
	jp_findings_add(findings, metric);
	/* A handful of boundary samples is chance: allow 4.5 standard deviations. */
	if (!n || metric.lo <= most ||
	    (class == JP_SAMPLE_EDGE &&
	     (double)metric.k <= most * (double)n + 4.5 * sqrt(most * (double)n + 1)) ||
	    (class == JP_SAMPLE_OUTSIDE && metric.k <= switching(books)))
		return 0;
	exception = jp_findings_count(findings, "samples", JP_METHODS, text);
	if (!exception)
		return -ENOMEM;
	exception->count = found->count;
	books->impossible +=
		class == JP_SAMPLE_ASTRAY || class == JP_SAMPLE_UNWATCHED ? found->count : 0;
	snprintf(exception->first, sizeof(exception->first), "%s; at most %.1f %% are usual",
		 found->first, 100 * most);
	return 0;
}

/* Adds the share of each class, with its upper bound (see also sample_class.h). A process is not in
 * the truth until it announces itself, and the last samples come while the events are being
 * stopped. */
static int add_shares(struct books *books)
{
	static const double old_edge = 0.05, outside = 0.003, kernel = 0.003;
	const double unwatched =
		books->evidence->declared.system_wide ? 1 : JP_SAMPLE_UNWATCHED_USUAL;
	const struct jp_truth *truth = books->evidence->truth;
	const struct sample_tally *samples = books->samples[CAPTURED];
	/* Use the expected number, so that a profiler which drops samples in emitted code does not
	 * raise the shares. */
	uint64_t within =
		jp_max(samples[JP_SAMPLE_CODE].count + samples[JP_SAMPLE_ASTRAY].count +
			       samples[JP_SAMPLE_EDGE].count + samples[JP_SAMPLE_BELOW].count,
		       jp_clock_due(books->evidence));
	uint64_t all = books->view->held->samples;
	double edge = truth->version < JP_TRUTH_VERSION_CPU
			      ? old_edge
			      : edge_share(truth) + JP_SAMPLE_ASTRAY_USUAL;
	int failed = add_share(books, JP_SAMPLE_ASTRAY, within, JP_SAMPLE_ASTRAY_USUAL)
		       ?: add_share(books, JP_SAMPLE_BELOW, within, JP_SAMPLE_BELOW_USUAL)
		       ?: add_share(books, JP_SAMPLE_EDGE, within, edge)
		       ?: add_share(books, JP_SAMPLE_OUTSIDE, all, outside)
		       ?: add_share(books, JP_SAMPLE_KERNEL, all, kernel)
		       ?: add_share(books, JP_SAMPLE_UNWATCHED, all, unwatched);

	jp_findings_add_as(&books->view->findings, &impossible,
			   jp_metric_count("samples.impossible", books->impossible));
	return failed;
}

/* Compares the samples before and after inject, which adds records and leaves every sample as it
 * is. */
static int compare_injected(struct books *books)
{
	int failed = 0;

	for (enum jp_sample_class class = 0; class < JP_SAMPLE_CLASSES && !failed; class ++) {
		uint64_t before = books->samples[CAPTURED][class].count;
		uint64_t after = books->samples[INJECTED][class].count;

		if (before != after)
			failed = jp_findings_except(&books->view->findings, "samples.injected",
						    "changed",
						    "perf.data has %" PRIu64
						    " samples of class %s, injected.data %" PRIu64,
						    before, jp_sample_class_text(class), after);
	}
	if (!failed && books->digest[CAPTURED] != books->digest[INJECTED])
		failed = jp_findings_except(&books->view->findings, "samples.injected", "altered",
					    "the samples of injected.data say something else");
	return failed;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct books *books = view->state;
	int failed = add_samples(books, CAPTURED, "samples", view->held);

	/* Only a perf.data has records. */
	if (!failed && !view->evidence->declared.observed)
		failed = add_records(books, CAPTURED, "records", view->held);
	failed = failed ?: add_shares(books);

	if (failed || !view->in_injected)
		return failed;
	return add_samples(books, INJECTED, "injected samples", view->held_injected)
		       ?: add_records(books, INJECTED, "injected records", view->held_injected)
		       ?: compare_injected(books);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_capture_info *info = &view->evidence->info;
	struct books *books = view->state = calloc(1, sizeof(*books));

	if (!books)
		return -ENOMEM;
	books->evidence = view->evidence;
	books->view = view;
	/* A time that the capture does not state gives an empty interval. */
	books->switching[0] =
		(struct switching){info->first_enabled ?: UINT64_MAX, info->sampling, 0};
	books->switching[1] = (struct switching){info->stopped, view->evidence->watched.silent, 0};
	return jp_sample_facts_begin(&books->facts_of, books->evidence);
}

static void free_books(void *state)
{
	struct books *books = state;

	jp_sample_facts_end(&books->facts_of);
	free(books);
}

static const struct jp_validator books_validator = {
	.name = "books",
	.help = "is every sample and every record in a class, and each where its thread was?",
	.traits = JP_WANTS_INJECTED | JP_LACKS_RECORDS | JP_LACKS_REGISTERS | JP_LACKS_NAMES |
		  JP_LACKS_MAPPINGS | JP_LACKS_TASKS,
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_books,
};
JP_REGISTER(validator, books_validator);
