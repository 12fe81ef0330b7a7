// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/exits.h"
#include "harness/base/file.h"
#include "harness/base/order.h"
#include "harness/base/shortage.h"
#include "harness/base/terminal.h"
#include "harness/report/figures.h"
#include "harness/report/junit.h"
#include "harness/report/ktap.h"
#include "harness/report/page.h"
#include "harness/report/results.h"
#include "harness/report/table.h"

/* Returns output number @index for KTAP. The outputs are standard output, unless it is a terminal,
 * and the copy in the run directory. Returns NULL after the last. */
static FILE *get_output(const struct jp_report *report, int index)
{
	index += report->screen.is_terminal;
	return index == 0 ? stdout : index == 1 ? report->ktap : NULL;
}

int jp_report_begin(struct jp_report *report, const struct jp_cases *cases, size_t plan)
{
	report->cases = cases;
	report->plan = plan;
	report->results = calloc(plan ? plan : 1, sizeof(*report->results));
	if (!report->results ||
	    (report->html && jp_page_data_begin(&report->page, plan ? plan : 1)))
		return -ENOMEM;
	for (int i = report->is_unjudged; get_output(report, i); i++) {
		jp_ktap_head(get_output(report, i), plan);
		fflush(get_output(report, i));
	}
	if (report->screen.verbose)
		printf("%s%s\n", report->screen.is_terminal ? "" : "# ", JP_FIGURES_HEAD);
	return 0;
}

struct jp_result *jp_report_next(struct jp_report *report)
{
	struct jp_result *result = &report->results[report->count];

	result->listener = report->html ? &report->page.listener : NULL;
	return result;
}

/* Stores in report->shortage that output may be missing because of a lack of memory. */
static void note_shortage(struct jp_report *report)
{
	if (!*report->shortage.text)
		jp_shortage_describe(report->shortage.text, sizeof(report->shortage.text));
}

void jp_report_add(struct jp_report *report, int is_single)
{
	const struct jp_result *result = &report->results[report->count++];
	size_t size;
	char *text = NULL;
	FILE *out;

	jp_shortage_begin(); /* the result states this shortage already */
	report->counts[result->outcome]++;
	if (report->screen.is_terminal)
		jp_screen_result(&report->screen, result);
	else if (report->screen.verbose)
		jp_figures_print(stdout, result, "# ", 0);
	for (int i = 0; get_output(report, i); i++)
		jp_ktap_result(get_output(report, i), report->count, result);
	if (report->jsonl)
		jp_results_write(report->jsonl, result);
	if (report->html && jp_page_data_add_case(&report->page, result))
		jp_shortage_note(ENOMEM);
	out = is_single >= 0 ? open_memstream(&text, &size) : NULL;
	if (out) {
		jp_ktap_head(out, 1);
		jp_ktap_result(out, 1, result);
		if (!jp_shortage_close(out, &text))
			jp_file_write(is_single, text, size);
		free(text);
	} else if (is_single >= 0) {
		jp_shortage_note(errno);
	}
	note_shortage(report);
}

int jp_report_end(struct jp_report *report)
{
	const size_t *counts = report->counts;
	const unsigned int width = jp_terminal_width(STDOUT_FILENO);
	struct jp_accounts accounts = {0};
	uint64_t slack = 0;
	int failed = 0;

	jp_shortage_begin();
	for (size_t i = 0; i < report->count && !failed; i++)
		failed = jp_accounts_append(&accounts, &report->results[i].findings.accounts);
	for (size_t i = 0; i < report->count; i++)
		slack = jp_max(slack, report->results[i].info.slack);
	for (int i = 0; get_output(report, i); i++) {
		FILE *out = get_output(report, i);

		jp_table_print(out, report->cases, report->results, report->count, "#", width);
		fprintf(out,
			"#\n# The clocks of truth and capture differed by at most %" PRIu64
			" ns.\n",
			slack);
		jp_accounts_print(out, &accounts, "# ", 0);
		jp_accounts_explain(out, &accounts, "# ", 0);
		jp_ktap_totals(out, counts);
		fflush(out);
	}
	if (report->screen.is_terminal && report->screen.verbose) {
		jp_table_print(stdout, report->cases, report->results, report->count, "", width);
		jp_accounts_print(stdout, &accounts, "", width);
		jp_accounts_explain(stdout, &accounts, "", width);
	}
	jp_accounts_free(&accounts);
	if (report->screen.is_terminal)
		jp_screen_summary(&report->screen, report->results, report->count, report->plan,
				  NULL);
	if (report->junit)
		jp_junit_write(report->junit, report->results, report->count);
	note_shortage(report);
	if (!report->count)
		return JP_EXIT_BROKEN;
	if (counts[JP_FAIL] || counts[JP_XPASS] || counts[JP_ERROR] || counts[JP_TIMEOUT] ||
	    counts[JP_CRASH])
		return JP_EXIT_BAD;
	return counts[JP_SKIP] == report->count ? JP_EXIT_SKIPPED : JP_EXIT_OK;
}

void jp_report_cut_short(struct jp_report *report, const char *reason)
{
	if (report->screen.is_terminal)
		jp_screen_summary(&report->screen, report->results, report->count, report->plan,
				  reason);
	for (int i = 0; get_output(report, i); i++) {
		fprintf(get_output(report, i), "Bail out! cut short: %s\n", reason);
		fflush(get_output(report, i));
	}
}

void jp_report_write_page(struct jp_report *report, const char *dir)
{
	jp_cleanup_free char *data = report->html ? jp_page_data_join(&report->page, dir) : NULL;

	if (data)
		jp_page_write(report->html, data);
	else if (report->html)
		jp_shortage_note(ENOMEM);
	note_shortage(report);
}

int jp_report_written(const struct jp_report *report, struct jp_error *err)
{
	FILE *const files[] = {report->jsonl, report->ktap, report->junit, report->html};
	static const char *const names[] = {"results.jsonl", "ktap.txt", "junit.xml", "the page"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		errno = 0;
		if (files[i] && (fflush(files[i]) || ferror(files[i])))
			return jp_fail(err, EIO, "%s cannot be written: %s", names[i],
				       errno ? strerror(errno) : "an earlier write failed");
	}
	if (*report->shortage.text)
		return jp_fail(err, EIO, "%s", report->shortage.text);
	return 0;
}

void jp_report_free(struct jp_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		jp_findings_free(&report->results[i].findings);
	free(report->results);
	if (report->jsonl)
		fclose(report->jsonl);
	if (report->ktap)
		fclose(report->ktap);
	if (report->junit)
		fclose(report->junit);
	if (report->html)
		fclose(report->html);
	jp_page_data_free(&report->page);
}
