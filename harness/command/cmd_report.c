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
#include "harness/outcome/case_folders.h"
#include "harness/outcome/expect.h"
#include "harness/report/explain_report.h"
#include "harness/report/page.h"
#include "harness/report/picture.h"
#include "harness/report/results.h"
#include "harness/run/cases.h"

/* Cases that passed get no picture once the report has so many bytes. */
enum { PASSING_BYTES = 4 << 20 };

struct report_request {
	const char *input, *output, *expected;
	bool json;
	struct jp_error err;
};

/* A report in the making: its parts come at different times, and are joined at the end. */
struct report_parts {
	FILE *cases, *pictures;
	char *cases_text, *pictures_text;
	size_t cases_size, pictures_size;
	struct jp_json cases_json, pictures_json;
	uint64_t left_out; /* cases without a picture */
};

static int judge_folder(struct report_request *request, struct report_parts *parts,
			const struct jp_cases *known, const char *dir)
{
	struct jp_picture picture = {0};
	const struct jp_listener listener = jp_picture_listener(&picture);
	struct jp_cases *own = jp_case_folder_definition(dir, &request->err);
	struct jp_result *result = calloc(1, sizeof(*result));
	const struct jp_case *cas = own ? &own->cases[0] : NULL;
	int failed = 0;

	if (cas && request->expected)
		cas = jp_cases_find(known, cas->name);
	if (!result || !cas) {
		failed = own ? jp_fail(&request->err, ENOENT, "%s: its case is not known", dir)
			     : -EINVAL;
		goto out;
	}
	result->listener = &listener;
	jp_case_folder_judge(cas, dir, result);
	jp_results_write_into(&parts->cases_json, result);
	fflush(parts->pictures);
	if (!picture.samples ||
	    (result->outcome == JP_PASS && parts->pictures_size > PASSING_BYTES))
		parts->left_out++;
	else if (jp_picture_write(&picture, cas->name, &parts->pictures_json))
		failed = jp_fail(&request->err, ENOMEM, "%s: no memory", dir);
	jp_findings_free(&result->findings);
out:
	jp_picture_free(&picture);
	free(result);
	jp_cases_free(own);
	return failed;
}

static int report_folders(struct report_request *request, struct report_parts *parts,
			  const struct jp_case_folders *folders)
{
	struct jp_cases *known = jp_cases_load(request->expected, &request->err);
	int failed = known ? 0 : -EINVAL;

	jp_json_array(&parts->cases_json, NULL);
	for (size_t i = 0; i < folders->count && !failed; i++)
		failed = judge_folder(request, parts, known, folders->paths[i]);
	jp_json_end(&parts->cases_json);
	jp_cases_free(known);
	return failed;
}

static int report_file(struct report_request *request, struct report_parts *parts)
{
	struct jp_picture picture = {0};
	const struct jp_explain_options options = {.handle = jp_picture_explained,
						   .context = &picture};
	struct jp_explanation explanation = {0};
	int failed = jp_explain(request->input, &options, &explanation, &request->err);

	if (!failed) {
		jp_explain_report_write(&parts->cases_json, NULL, &explanation, request->input);
		failed = jp_picture_write(&picture, request->input, &parts->pictures_json);
	}
	jp_picture_free(&picture);
	jp_explanation_free(&explanation);
	return failed;
}

/* Returns the report as JSON, or NULL and a message. */
static char *join_parts(struct report_request *request, const struct report_parts *parts, bool run)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct jp_json json;

	if (!out)
		goto failed;
	jp_json_begin(&json, out);
	jp_json_object(&json, NULL);
	jp_json_string(&json, "format", "jitproof-report");
	jp_json_u64(&json, "version", 1);
	jp_json_string(&json, "source", request->input);
	jp_json_u64(&json, "without_picture", parts->left_out);
	fprintf(out, ",\"%s\":%s,\"pictures\":%s", run ? "cases" : "explain", parts->cases_text,
		parts->pictures_text);
	jp_json_end(&json);
	if (fclose(out) == 0)
		return text;
failed:
	free(text);
	jp_fail(&request->err, ENOMEM, "%s: no memory", request->input);
	return NULL;
}

/* Returns the report of the folders, or if there are none of the file, as JSON. */
static char *make_report(struct report_request *request, const struct jp_case_folders *folders)
{
	struct report_parts parts = {0};
	char *text = NULL;
	int failed = -ENOMEM;

	parts.cases = open_memstream(&parts.cases_text, &parts.cases_size);
	parts.pictures = open_memstream(&parts.pictures_text, &parts.pictures_size);
	if (parts.cases && parts.pictures) {
		jp_json_begin(&parts.cases_json, parts.cases);
		jp_json_begin(&parts.pictures_json, parts.pictures);
		jp_json_array(&parts.pictures_json, NULL);
		failed = folders->count ? report_folders(request, &parts, folders)
					: report_file(request, &parts);
		jp_json_end(&parts.pictures_json);
	}
	if (parts.cases && fclose(parts.cases))
		failed = -ENOMEM;
	if (parts.pictures && fclose(parts.pictures))
		failed = -ENOMEM;
	if (!failed)
		text = join_parts(request, &parts, folders->count);
	else if (!*request->err.text)
		jp_fail(&request->err, ENOMEM, "%s: no memory", request->input);
	free(parts.cases_text);
	free(parts.pictures_text);
	return text;
}

static int write_report(struct report_request *request, const struct jp_case_folders *folders,
			FILE *out)
{
	jp_cleanup_free char *text = make_report(request, folders);

	if (!text)
		return jp_command_broken("report", &request->err);
	if (request->json)
		fputs(text, out);
	else
		jp_page_write(out, text);
	if (fflush(out) || ferror(out)) {
		jp_fail(&request->err, EIO, "the report could not be written");
		return jp_command_broken("report", &request->err);
	}
	return jp_reading_end("report", JP_EXIT_OK);
}

static int report(int argc, char **argv)
{
	struct report_request request = {0};
	struct jp_case_folders folders = {0};
	struct jp_new_file file = {0};
	const struct jp_option options[] = {
		{"DIR|FILE", .text = &request.input, .needed = true,
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
	/* A perf.data may be a folder, too: then it holds no case. */
	if (jp_case_folders_find(&folders, request.input) && errno != ENOTDIR) {
		jp_fail(&request.err, errno, "%s: %s", request.input, strerror(errno));
		jp_command_broken("report", &request.err);
	} else if (request.output &&
		   !(out = jp_new_file_stream(&file, request.output, &request.err))) {
		jp_command_broken("report", &request.err);
	} else if (!jp_reading_begin("report", request.input, request.expected, NULL, &status)) {
		status = write_report(&request, &folders, out);
		if (status != JP_EXIT_BROKEN && request.output &&
		    jp_new_file_keep(&file, &request.err))
			status = jp_command_broken("report", &request.err);
		jp_new_file_drop(&file);
	}
	jp_case_folders_free(&folders);
	return status;
}

static const struct jp_command report_command = {
	.name = "report",
	.synopsis = "report [OPTION...] DIR|FILE",
	.help = "write a page that shows a run, or any perf.data, as pictures",
	.run = report,
};
JP_REGISTER(command, report_command);
