// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/new_file.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/reading.h"
#include "harness/outcome/case_folder.h"
#include "harness/report/page.h"
#include "harness/report/page_data.h"
#include "harness/run/cases.h"

struct report_request {
	const char *input, *output, *expected;
	bool json;
	struct jp_error err;
};

static int fail_memory(struct report_request *request)
{
	return jp_fail(&request->err, ENOMEM, "%s: out of memory", request->input);
}

static int judge_folder(struct report_request *request, struct jp_page_data *page,
			const struct jp_cases *known_cases, const char *dir)
{
	struct jp_cases *own_cases = jp_case_folder_definition(dir, &request->err);
	struct jp_result *result = calloc(1, sizeof(*result));
	const struct jp_case *cas = own_cases ? &own_cases->cases[0] : NULL;
	int failed = -EINVAL;

	if (cas && request->expected)
		cas = jp_cases_find(known_cases, cas->name);
	if (own_cases && !cas) {
		jp_fail(&request->err, ENOENT, "%s: its case is unknown", dir);
	} else if (own_cases && !result) {
		fail_memory(request);
	} else if (cas) {
		result->listener = &page->listener;
		jp_case_folder_judge(cas, dir, result);
		failed = jp_page_data_add_case(page, result) ? fail_memory(request) : 0;
		jp_findings_free(&result->findings);
	}
	free(result);
	jp_cases_free(own_cases);
	return failed;
}

static int report_folders(struct report_request *request, struct jp_page_data *page,
			  const struct jp_arguments *folders)
{
	struct jp_cases *known_cases = jp_cases_load(request->expected, &request->err);
	int failed = known_cases ? 0 : -EINVAL;

	for (size_t i = 0; i < folders->count && !failed; i++)
		failed = judge_folder(request, page, known_cases, folders->list[i]);
	jp_cases_free(known_cases);
	return failed;
}

static int report_file(struct report_request *request, struct jp_page_data *page)
{
	const struct jp_explain_options options = {.handle = jp_picture_draw_event,
						   .name = jp_picture_draw_perf_maps,
						   .context = &page->picture};
	struct jp_explanation explanation = {0};
	int failed = jp_explain(request->input, &options, &explanation, &request->err);

	if (!failed && jp_page_data_add_file(page, &explanation, request->input))
		failed = fail_memory(request);
	jp_explanation_free(&explanation);
	return failed;
}

/* Returns the JSON report about the case folders in @folders, or about the input file if there are
 * none. */
static char *make_report(struct report_request *request, const struct jp_arguments *folders)
{
	struct jp_page_data page = {0};
	char *text = NULL;
	int failed;

	if (jp_page_data_begin(&page, folders->count))
		failed = fail_memory(request);
	else
		failed = folders->count ? report_folders(request, &page, folders)
					: report_file(request, &page);
	if (!failed)
		text = jp_page_data_join(&page, request->input);
	if (!failed && !text)
		fail_memory(request);
	jp_page_data_free(&page);
	return text;
}

static int write_report(struct report_request *request, const struct jp_arguments *folders,
			FILE *out)
{
	jp_cleanup_free char *text = make_report(request, folders);

	if (!text)
		return jp_command_fail("report", &request->err);
	if (request->json)
		fputs(text, out);
	else
		jp_page_write(out, text);
	if (fflush(out) || ferror(out)) {
		jp_fail(&request->err, EIO, "the report could not be written");
		return jp_command_fail("report", &request->err);
	}
	return jp_reading_end("report", JP_EXIT_OK);
}

static int report(int argc, char **argv)
{
	struct report_request request = {0};
	jp_cleanup_arguments struct jp_arguments folders = {0};
	struct jp_new_file file = {0};
	const struct jp_option options[] = {
		{"DIR|FILE", .text = &request.input, .is_required = true,
		 .help = "a run directory, a case's folder, or any perf.data"},
		{"--output", "-o", .value = "OUT", .text = &request.output,
		 .help = "write to the new file OUT, not to standard output"},
		{"--json", .set = &request.json,
		 .help = "write the data that the page draws (docs/report-format.md)"},
		{"--expected", .value = "DIR", .text = &request.expected,
		 .help = "take the expectations from the files in DIR, not from the run"},
		{0}};
	FILE *out = stdout;
	int status;

	if (!jp_command_line(options, argc, argv, &status))
		return status;
	status = JP_EXIT_BROKEN;
	/* A perf.data may be a folder, too, but contains no case folder. */
	if (jp_case_folders_find(&folders, request.input) && errno != ENOTDIR) {
		jp_fail(&request.err, errno, "%s: %s", request.input, strerror(errno));
		jp_command_fail("report", &request.err);
	} else if (request.output &&
		   !(out = jp_new_file_stream(&file, request.output, &request.err))) {
		jp_command_fail("report", &request.err);
	} else if (!jp_reading_begin("report", request.input, request.expected, NULL, &status)) {
		status = write_report(&request, &folders, out);
		if (status != JP_EXIT_BROKEN && request.output &&
		    jp_new_file_publish(&file, &request.err))
			status = jp_command_fail("report", &request.err);
		jp_new_file_discard(&file);
	}
	return status;
}

JP_DEFINE(command, report_command) = {
	.name = "report",
	.synopsis = "report [OPTION...] DIR|FILE",
	.help = "write a page that shows a run, or any perf.data, as pictures",
	.run = report,
};
