// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/explain_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/base/printable.h"

enum { MOST_PLACES = 5 };

/* Prints untrusted text without control characters. */
static void print_untrusted(const char *text)
{
	jp_printable_put(stdout, text);
}

static void print_where(const struct jp_blame *place)
{
	if (place->pid) {
		printf("pid %" PRIu32 " (", place->pid);
		print_untrusted(place->process);
		putchar(')');
	}
	if (place->file) {
		fputs(place->pid ? ", " : "", stdout);
		print_untrusted(place->file);
	}
	for (size_t i = 0; i < place->nr_ranges; i++)
		printf("%s%" PRIx64 "-%" PRIx64,
		       i                           ? " "
		       : place->pid || place->file ? ", "
						   : "",
		       place->ranges[i].start, place->ranges[i].end);
}

static void print_cause(const struct jp_blamed *cause, double share)
{
	const struct jp_blame *worst = cause->places[0];

	printf("\n%5.1f %%  %s: %s\n", 100 * share, cause->cause->id, cause->cause->text);
	if (cause->below)
		printf("         a consequence of %s, whose remedy repairs it, too\n",
		       cause->below->id);
	for (size_t i = 0; i < cause->nr_places && i < MOST_PLACES; i++) {
		const struct jp_blame *place = cause->places[i];

		if (!place->pid && !place->file && !place->nr_ranges)
			continue;
		printf("         in ");
		print_where(place);
		if (cause->nr_places > 1)
			printf(": %" PRIu64 " samples", place->samples);
		putchar('\n');
	}
	if (cause->nr_places > MOST_PLACES)
		printf("         and in %zu more places\n", cause->nr_places - MOST_PLACES);
	for (size_t i = 0; i < worst->nr_evidence; i++) {
		printf("         - ");
		print_untrusted(worst->evidence[i]);
		putchar('\n');
	}
	if (*worst->remedy) {
		printf("         remedy: ");
		print_untrusted(worst->remedy);
		putchar('\n');
	}
	if (cause->cause->study)
		printf("         study: `jitproof run '%s/*'`\n", cause->cause->study);
}

static const char *const questions[] = {
	[JP_WHY_STACKS_END] = "stacks end",
	[JP_WHY_NAMES_LACK] = "names are missing",
	[JP_WHY_SAMPLES_LACK] = "samples are missing",
};

static double get_share(const struct jp_explanation *explanation, const struct jp_blamed *cause,
			enum jp_question question)
{
	return (double)jp_answers_cost(cause, question) /
	       (explanation->summary.samples + cause->absent);
}

static bool is_answer(const struct jp_explanation *explanation, enum jp_question question,
		      const struct jp_blamed *cause)
{
	const struct jp_answers *answers = &explanation->answers[question];

	for (size_t i = 0; i < answers->count; i++)
		if (answers->causes[i] == cause)
			return true;
	return false;
}

static void print_first(const struct jp_explanation *explanation, enum jp_question question)
{
	const struct jp_answers *answers = &explanation->answers[question];
	const struct jp_blamed *first = answers->count ? answers->causes[0] : NULL;
	size_t others = 0;

	for (size_t i = 1; i < answers->count; i++)
		others += !answers->causes[i]->below;
	if (first)
		printf("%s for %.1f %%, because %s (%s)%s\n", questions[question],
		       100 * get_share(explanation, first, question), first->cause->text,
		       first->cause->id, others ? ", and there is more" : "");
}

static void print_verdict(const struct jp_explanation *explanation, const char *file)
{
	const struct jp_blamed *main = explanation->causes;

	print_untrusted(file);
	if (!explanation->summary.samples) {
		printf(": there are no samples");
		if (explanation->nr_accused)
			printf(", because %s (%s)", main->cause->text, main->cause->id);
		putchar('\n');
	} else if (jp_explain_healthy(explanation)) {
		printf(": healthy: no cause costs stacks or names of %.0f %% of the %" PRIu64
		       " samples\n",
		       100 * JP_EXPLAIN_ACCUSES, explanation->summary.samples);
	} else if (!explanation->nr_accused) {
		printf(": whether stacks are broken is not known\n");
	} else {
		printf(": %.1f %% of the %" PRIu64 " samples lose their stack or their names\n",
		       100 * main->share, explanation->summary.samples);
		for (int question = 0; question < JP_QUESTIONS; question++)
			print_first(explanation, question);
	}
}

/* Prints the causes that answer @question. A cause that answered an earlier one has its evidence
 * there. */
static void print_answers(const struct jp_explanation *explanation, enum jp_question question)
{
	const struct jp_answers *answers = &explanation->answers[question];

	if (answers->count)
		printf("\nwhy %s:\n", questions[question]);
	for (size_t i = 0; i < answers->count; i++) {
		const struct jp_blamed *cause = answers->causes[i];
		const double share = get_share(explanation, cause, question);

		if (question == JP_WHY_NAMES_LACK &&
		    is_answer(explanation, JP_WHY_STACKS_END, cause))
			printf("\n%5.1f %%  %s: see above\n", 100 * share, cause->cause->id);
		else
			print_cause(cause, share);
	}
}

void jp_explain_report_text(const struct jp_explanation *explanation, const char *file)
{
	print_verdict(explanation, file);
	if (explanation->unknown_stacks) {
		printf("%" PRIu64 " of the %" PRIu64 " stacks are dumps of ",
		       explanation->unknown_stacks, explanation->summary.samples);
		print_untrusted(*explanation->summary.arch ? explanation->summary.arch
							   : "another machine");
		printf(", or of 32-bit tasks there, which jitproof does not unwind: record by "
		       "frame pointers (perf record -g)\n");
	}
	for (int question = 0; question < JP_QUESTIONS; question++)
		print_answers(explanation, question);
	if (explanation->nr_accused < explanation->nr_causes)
		printf("\nnotes, below %.0f %% or by too few samples:\n", 100 * JP_EXPLAIN_ACCUSES);
	for (size_t i = explanation->nr_accused; i < explanation->nr_causes; i++)
		print_cause(&explanation->causes[i], explanation->causes[i].share);
}
