// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/new_file.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/trace_request.h"
#include "harness/trace/compare.h"
#include "harness/trace/print.h"
#include "harness/trace/program.h"

struct trace_request {
	struct jp_trace_program program;
	const char *output, *truth;
	struct jp_operands command;
	bool json;
	FILE *out; /* the file of --output; NULL: none */
	struct jp_json written;
	struct jp_comparison comparison;
};

static bool parse(struct trace_request *request, int argc, char **argv, int *status)
{
	enum { LAUNCH = 1, ATTACH = 2 };
	const struct jp_option options[] = {
		{"-o", .value = "TRACE", .text = &request->output,
		 .help = "write each instruction of emitted code to TRACE, a line of JSON each"},
		{"--pid", "-p", "PID", .number = &request->program.pid, .min = 1, .max = INT32_MAX,
		 .modes = ATTACH, .help = "trace a running process, and what it starts"},
		{"COMMAND", .operands = &request->command, .verbatim = true, .modes = LAUNCH,
		 .help = "start this command, and trace it"},
		{.get_more = jp_trace_rows, .context = &request->program.options},
		{"--truth", .value = "TRUTH", .text = &request->truth,
		 .help = "compare with TRUTH, which a traced workload writes"},
		{"--json", .set = &request->json, .help = "print one JSON object"},
		{.help = "Exit status: 0; 1 with --truth if a caller differs; 99 trace cannot "
			 "trace."},
		{0}};

	if (!jp_command_line(options, argc, argv, status))
		return false;
	request->program.command = request->command.list;
	if (request->program.pid || request->command.count)
		return true;
	*status = jp_command_fail_usage("trace", "expected --pid PID or a command");
	return false;
}

static void visit_insn(void *context, const struct jp_trace_insn *insn)
{
	struct trace_request *request = context;

	if (request->out && insn->emitted)
		jp_trace_insn_json(insn, &request->written);
	if (request->truth)
		jp_comparison_add(&request->comparison, insn);
}

static void print_result(const struct trace_request *request, const struct jp_tally *tally)
{
	struct jp_json json;

	if (!request->json) {
		jp_tally_print(tally, stdout);
		if (request->truth)
			jp_comparison_print(&request->comparison, stdout);
		return;
	}
	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	jp_json_u64(&json, "seed", request->program.options.seed);
	jp_tally_json(tally, &json);
	if (request->truth)
		jp_comparison_json(&request->comparison, &json);
	jp_json_end(&json);
}

/* Traces the program and prints the result. */
static int trace_program(struct trace_request *request, struct jp_error *err)
{
	struct jp_trace trace = {0};
	int failed = jp_trace_program(&trace, &request->program, err);

	if (!failed && request->truth)
		failed = jp_comparison_make(&request->comparison, request->truth, err);
	if (!failed)
		print_result(request, &trace.tally);
	jp_trace_free(&trace);
	return failed;
}

/* Traces the program as trace_program() does, and writes its instructions to the file of
 * --output. */
static int trace_to_file(struct trace_request *request, struct jp_error *err)
{
	struct jp_new_file file = {0};
	int failed;

	request->out = jp_new_file_stream(&file, request->output, err);
	if (!request->out)
		return -EIO;
	jp_json_begin(&request->written, request->out);
	failed = trace_program(request, err);
	if (fclose(request->out) && !failed)
		failed = jp_fail(err, errno, "%s: %s", request->output, strerror(errno));
	failed = failed ?: jp_new_file_publish(&file, err);
	jp_new_file_discard(&file);
	return failed;
}

/* Runs in the tracing process and does the command's work. @context: the struct trace_request. */
static int trace_with_request(void *context)
{
	struct trace_request *request = context;
	struct jp_error err = {""};
	int failed = request->output ? trace_to_file(request, &err) : trace_program(request, &err);

	jp_comparison_free(&request->comparison);
	if (failed)
		return jp_command_fail("trace", &err);
	return request->comparison.nr_wrong ? JP_EXIT_BAD : JP_EXIT_OK;
}

static int trace(int argc, char **argv)
{
	struct trace_request request = {
		.program = {.name = "trace", .options = jp_trace_defaults(), .visit = visit_insn}};
	int status;

	if (!parse(&request, argc, argv, &status))
		return status;
	request.program.context = &request;
	return jp_trace_guarded("trace", trace_with_request, &request);
}

JP_DEFINE(command, trace_command) = {
	.name = "trace",
	.synopsis = "trace [OPTION...] (-p PID | -- COMMAND...)",
	.help = "step through any program, and check what it publishes",
	.run = trace,
};
