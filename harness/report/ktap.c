// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/ktap.h"

#include <inttypes.h>

#include "harness/base/printable.h"
#include "harness/model/causes/causes.h"
#include "harness/report/figures.h"

void jp_ktap_head(FILE *out, size_t plan)
{
	fprintf(out, "KTAP version 1\n1..%zu\n", plan);
}

/* Writes @separator and @prefix between the lines of @text. */
static void put_lines(FILE *out, const char *text, const char *separator, const char *prefix)
{
	for (; *(text = jp_printable_put_prefix(out, text)); text++) {
		if (*text == '\n')
			fprintf(out, "%s%s", separator, prefix);
		else
			fputc('?', out);
	}
}

void jp_ktap_comment(FILE *out, const char *prefix, const char *text)
{
	fprintf(out, "# %s", prefix);
	put_lines(out, text, "\n# ", prefix);
	fputc('\n', out);
}

/* Writes the reason of a SKIP or XFAIL, which must stay on its line. */
static void put_on_one_line(FILE *out, const char *text)
{
	fputc(' ', out);
	put_lines(out, text, "; ", "");
}

/* Writes on one line the names of the readers with @answer. Writes nothing if there is no such
 * reader. */
static void put_readers(FILE *out, const struct jp_findings *findings, enum jp_reader_answer answer,
			const char *text)
{
	size_t count = 0;

	for (size_t i = 0; i < findings->nr_readers; i++) {
		const struct jp_reader *reader = &findings->readers[i];

		if (reader->answer != answer)
			continue;
		fprintf(out, count++ ? ", " : "# %s: ", text);
		put_lines(out, reader->name, " ", "");
		fputs(" of ", out);
		put_lines(out, reader->file, " ", "");
	}
	if (count)
		fputc('\n', out);
}

static void put_diagnostics(FILE *out, const struct jp_result *result)
{
	const struct jp_findings *findings = &result->findings;

	if (result->reasons[0])
		jp_ktap_comment(out, "", result->reasons);
	for (size_t i = 0; i < findings->nr_skipped; i++)
		fprintf(out, "# skipped: %s: the capture declares %s\n",
			findings->skipped[i].validator, findings->skipped[i].lack);
	put_readers(out, findings, JP_READER_AGREES, "readers that agree");
	put_readers(out, findings, JP_READER_DIFFERS, "readers that differ");
	put_readers(out, findings, JP_READER_OLDER, "readers that are too old");
	/* Most cases need a fraction of a second, so evidence is scarce in a slow case. */
	if (result->sampled_seconds * 2 >= result->cas->seconds)
		fprintf(out, "# sampled for more than half of the case's %u s\n",
			result->cas->seconds);
	if (result->outcome == JP_PASS)
		return;
	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];
		const char *text = jp_figures_text(exception->metric);
		char cause[80];

		jp_cause_text(exception->metric, exception->cause, cause, sizeof(cause));
		fprintf(out, "# %s: %" PRIu64 " with cause %s, the first%s%s:\n", exception->metric,
			exception->count, cause, *text ? " of the " : "", text);
		jp_ktap_comment(out, "  ", exception->example);
	}
	jp_accounts_print(out, &findings->accounts, "# ", 0);
	if (result->info.lost_samples)
		fprintf(out, "# lost samples: %" PRIu64 "\n", result->info.lost_samples);
}

void jp_ktap_result(FILE *out, size_t number, const struct jp_result *result)
{
	static const char *const directive[JP_OUTCOMES] = {
		[JP_SKIP] = "SKIP",       [JP_ERROR] = "ERROR", [JP_XFAIL] = "XFAIL",
		[JP_TIMEOUT] = "TIMEOUT", [JP_CRASH] = "CRASH",
	};
	bool ok = result->outcome == JP_PASS || result->outcome == JP_SKIP ||
		  result->outcome == JP_XFAIL;

	if (result->outcome != JP_SKIP)
		put_diagnostics(out, result);
	fprintf(out, "%s %zu %s", ok ? "ok" : "not ok", number, result->cas->name);
	if (directive[result->outcome])
		fprintf(out, " # %s", directive[result->outcome]);
	if (result->outcome == JP_SKIP)
		put_on_one_line(out, result->reasons);
	else if (result->outcome == JP_CRASH)
		put_on_one_line(out, result->crashed);
	else if (result->outcome == JP_XFAIL)
		put_on_one_line(out, result->cas->xfail ? result->cas->xfail : "");
	fputc('\n', out);
	fflush(out);
}

void jp_ktap_totals(FILE *out, const size_t counts[JP_OUTCOMES])
{
	fputs("# Totals:", out);
	for (int i = 0; i < JP_OUTCOMES; i++)
		fprintf(out, " %s:%zu", jp_outcome_text(i), counts[i]);
	fputc('\n', out);
}
