// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/explain_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/printable.h"
#include "harness/base/shortage.h"
#include "harness/base/terminal.h"

enum { MOST_PLACES = 5 };

static void print_untrusted(FILE *out, const char *text)
{
	jp_printable_put(out, text);
}

static void print_where(FILE *out, const struct jp_blame *blame)
{
	if (blame->pid) {
		fprintf(out, "pid %" PRIu32 " (", blame->pid);
		print_untrusted(out, blame->process);
		fputc(')', out);
	}
	if (blame->file) {
		fputs(blame->pid ? ", " : "", out);
		print_untrusted(out, blame->file);
	}
	for (size_t i = 0; i < blame->nr_ranges; i++)
		fprintf(out, "%s%" PRIx64 "-%" PRIx64,
			i                           ? " "
			: blame->pid || blame->file ? ", "
						    : "",
			blame->ranges[i].start, blame->ranges[i].end);
}

static void print_cause(FILE *out, const struct jp_explain_shown *shown,
			const struct jp_blamed *cause, double share)
{
	const struct jp_blame *main_place = cause->places[0];

	fprintf(out, "\n%5.1f %%  %s: %s\n", 100 * share, cause->cause->id, cause->cause->text);
	if (cause->below)
		fprintf(out, "         a consequence of %s, whose remedy repairs it, too\n",
			cause->below->id);
	const size_t places = shown->all_places ? MOST_PLACES : 1,
		     lines = shown->all_places ? main_place->nr_evidence : 1;

	for (size_t i = 0; i < cause->nr_places && i < places; i++) {
		const struct jp_blame *blame = cause->places[i];

		if (!blame->pid && !blame->file && !blame->nr_ranges)
			continue;
		fprintf(out, "         in ");
		print_where(out, blame);
		if (cause->nr_places > 1)
			fprintf(out, ": %" PRIu64 " samples", blame->samples);
		fputc('\n', out);
	}
	if (cause->nr_places > places)
		fprintf(out, "         and in %zu more places\n", cause->nr_places - places);
	for (size_t i = 0; i < main_place->nr_evidence && i < lines; i++) {
		fprintf(out, "         - ");
		print_untrusted(out, main_place->evidence[i]);
		fputc('\n', out);
	}
	if (*main_place->remedy) {
		fputs(shown->width ? "         remedy:\n  " : "         remedy: ", out);
		print_untrusted(out, main_place->remedy);
		fputc('\n', out);
	}
	if (cause->cause->study && shown->all_places)
		fprintf(out, "         study: `jitproof run '%s/*'`\n", cause->cause->study);
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

static void print_first(FILE *out, const struct jp_explanation *explanation,
			enum jp_question question)
{
	const struct jp_answers *answers = &explanation->answers[question];
	const struct jp_blamed *first = answers->count ? answers->causes[0] : NULL;
	size_t nr_others = 0;

	for (size_t i = 1; i < answers->count; i++)
		nr_others += !answers->causes[i]->below;
	if (first)
		fprintf(out, "%s for %.1f %%, because %s (%s)%s\n", questions[question],
			100 * get_share(explanation, first, question), first->cause->text,
			first->cause->id, nr_others ? ", and for other reasons" : "");
}

static void print_verdict(FILE *out, const struct jp_explanation *explanation, const char *file)
{
	const struct jp_blamed *main = explanation->causes;
	double max = 0; /* the cause of most lost samples may stand behind another cause */

	print_untrusted(out, file);
	if (!explanation->summary.samples) {
		fprintf(out, ": there are no samples");
		if (explanation->nr_accused)
			fprintf(out, ", because %s (%s)", main->cause->text, main->cause->id);
		fputc('\n', out);
	} else if (jp_explain_healthy(explanation)) {
		fprintf(out,
			": healthy: no cause costs stacks or names of %.0f %% of the %" PRIu64
			" samples\n",
			100 * JP_EXPLAIN_ACCUSES, explanation->summary.samples);
	} else if (!explanation->nr_accused) {
		fprintf(out, ": whether stacks are broken is not known\n");
	} else {
		for (size_t i = 0; i < explanation->nr_accused; i++)
			max = main[i].share > max ? main[i].share : max;
		fprintf(out,
			": %.1f %% of the %" PRIu64 " samples lose their stack or their names\n",
			100 * max, explanation->summary.samples);
		for (int question = 0; question < JP_QUESTIONS; question++)
			print_first(out, explanation, question);
	}
}

/* Prints the causes that answer @question. Omits the evidence of a cause that was already printed
 * for an earlier question. */
static void print_answers(FILE *out, const struct jp_explain_shown *shown,
			  const struct jp_explanation *explanation, enum jp_question question)
{
	const struct jp_answers *answers = &explanation->answers[question];

	if (answers->count)
		fprintf(out, "\nwhy %s:\n", questions[question]);
	for (size_t i = 0; i < answers->count; i++) {
		const struct jp_blamed *cause = answers->causes[i];
		const double share = get_share(explanation, cause, question);

		if (question == JP_WHY_NAMES_LACK &&
		    is_answer(explanation, JP_WHY_STACKS_END, cause))
			fprintf(out, "\n%5.1f %%  %s: see above\n", 100 * share, cause->cause->id);
		else
			print_cause(out, shown, cause, share);
	}
}

static void print_report(FILE *out, const struct jp_explain_shown *shown,
			 const struct jp_explanation *explanation, const char *file)
{
	print_verdict(out, explanation, file);
	if (explanation->unknown_stacks) {
		fprintf(out, "%" PRIu64 " of the %" PRIu64 " stacks are dumps of ",
			explanation->unknown_stacks, explanation->summary.samples);
		print_untrusted(out, *explanation->summary.arch ? explanation->summary.arch
								: "another machine");
		fprintf(out,
			", or of 32-bit tasks there, which jitproof does not unwind: record by "
			"frame pointers (perf record -g)\n");
	}
	for (int question = 0; question < JP_QUESTIONS; question++)
		print_answers(out, shown, explanation, question);
	if (explanation->nr_accused < explanation->nr_causes && !shown->all_places) {
		fprintf(out, "\nMore, such as %zu small cause%s: repeat with -v.\n",
			explanation->nr_causes - explanation->nr_accused,
			explanation->nr_causes - explanation->nr_accused == 1 ? "" : "s");
		return;
	}
	if (explanation->nr_accused < explanation->nr_causes)
		fprintf(out, "\nnotes, below %.0f %% or by too few samples:\n",
			100 * JP_EXPLAIN_ACCUSES);
	for (size_t i = explanation->nr_accused; i < explanation->nr_causes; i++)
		print_cause(out, shown, &explanation->causes[i], explanation->causes[i].share);
}

/* Returns the column at which the text of a line starts, after a share, blanks or a dash. */
static unsigned int find_text(const char *line)
{
	const unsigned int blanks = (unsigned int)strspn(line, " ");

	if (strncmp(line + strcspn(line, "%\n"), "%  ", 3) == 0)
		return (unsigned int)strcspn(line, "%") + 3;
	return blanks + (strncmp(line + blanks, "- ", 2) ? 0 : 2);
}

static void fit_lines(const char *text, unsigned int width)
{
	while (*text) {
		const size_t length = strcspn(text, "\n");
		const unsigned int start = find_text(text);
		char line[4096];

		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		printf("%.*s", (int)start, line);
		jp_terminal_put_words(stdout, line + start, start, width);
		text += length + (text[length] == '\n');
	}
}

void jp_explain_report_text(const struct jp_explanation *explanation, const char *file,
			    const struct jp_explain_shown *shown)
{
	char *text = NULL;
	size_t size;
	FILE *out = shown->width ? open_memstream(&text, &size) : NULL;

	print_report(out ?: stdout, shown, explanation, file);
	if (!out)
		return;
	if (!jp_shortage_close(out, &text))
		fit_lines(text, shown->width);
	free(text);
}
