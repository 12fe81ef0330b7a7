// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/judge_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/exits.h"
#include "harness/command/command_line.h"
#include "harness/command/reading.h"
#include "harness/base/error.h"
#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/base/new_file.h"
#include "harness/base/shortage.h"
#include "harness/format/capture/capture_read.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/space/replay.h"
#include "harness/report/file_report.h"

enum { FRAMES = 1024 };

struct judgement {
	struct jp_file_report report;
	struct jp_file_finder *finder;
	struct jp_unwinder *unwinder; /* NULL: not requested */
	enum jp_method method;
	FILE *stacks; /* NULL: not requested */
	struct jp_new_file stacks_file;
};

/* A figure that --fail-if can limit, and the total for its percentage. */
struct metric {
	const char *name;
	uint64_t count, total;
};

/* Writes addresses as text, because most JSON readers keep only 53 bits of a number. */
static void write_address(struct jp_json *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	jp_json_string(json, key, text);
}

static void write_addresses(struct jp_json *json, const char *key, const uint64_t *values,
			    uint64_t count)
{
	jp_json_array(json, key);
	for (uint64_t i = 0; i < count; i++)
		write_address(json, NULL, values[i]);
	jp_json_end(json);
}

/* Writes @sample and its stack as one line of JSON (docs/unwinding.md). The caller checks @out for
 * errors. */
static void write_stack(FILE *out, const struct jp_event *sample, const struct jp_unwound *stack)
{
	struct jp_json json;

	jp_json_begin(&json, out);
	jp_json_object(&json, NULL);
	jp_json_u64(&json, "pid", sample->pid);
	jp_json_u64(&json, "tid", sample->tid);
	jp_json_u64(&json, "time", sample->time);
	write_address(&json, "ip", sample->sample.ip);
	jp_json_u64(&json, "dump", sample->sample.stack_size);
	jp_json_u64(&json, "asked", sample->sample.stack_asked);
	write_addresses(&json, "chain", sample->sample.chain, sample->sample.nr_chain);
	write_addresses(&json, "frames", stack->frames, stack->count);
	jp_json_string(&json, "stop", jp_unwind_stop_text(stack->stop));
	write_address(&json, "where", stack->stop_addr);
	jp_json_end(&json);
}

static size_t list_metrics(const struct judgement *judgement, struct metric metrics[12])
{
	const struct jp_figures *total = &judgement->report.total;
	const struct jp_perfdata_summary *summary = &judgement->report.summary;
	const struct metric known_metrics[] = {
		{"samples", total->samples, total->samples},
		{"user_stacks", total->user_stacks, total->samples},
		{"single_frame", total->single_frame, total->user_stacks},
		{"addresses", total->addresses, total->addresses},
		{"addresses_unmapped", total->addresses_unmapped, total->addresses},
		{"rootless", total->rootless, total->user_stacks},
		{"lost_records", summary->lost_records, summary->records},
		{"lost_events", summary->lost_events, summary->lost_events + total->samples},
		{"lost_samples", summary->lost_samples, summary->lost_samples + total->samples},
	};

	memcpy(metrics, known_metrics, sizeof(known_metrics));
	return sizeof(known_metrics) / sizeof(*known_metrics);
}

static const struct metric *find_metric(const struct judgement *judgement, const char *name)
{
	static struct metric metrics[12];
	size_t count = list_metrics(judgement, metrics);

	while (count && strcmp(metrics[count - 1].name, name) != 0)
		count--;
	return count ? &metrics[count - 1] : NULL;
}

static int parse_limit(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct jp_limit *limit = option->context;

	if (jp_limit_parse(limit, "METRIC", text, err))
		return -EINVAL;
	return find_metric(&(struct judgement){0}, limit->name)
		       ? 0
		       : jp_fail(err, EINVAL, "no metric called %s", limit->name);
}

static int parse_method(const struct jp_option *option, const char *text, struct jp_error *err)
{
	struct jp_judge_request *request = option->context;

	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		if (method != JP_CHAIN && strcmp(text, jp_method_name(method)) == 0) {
			request->method = method;
			request->unwind = true;
			return 0;
		}
	}
	return jp_fail(err, EINVAL, "--method=%s: expected dump, dump_fp or dump_cfi", text);
}

const struct jp_option *jp_judge_file_rows(void *context)
{
	struct jp_judge_request *request = context;
	const unsigned int modes = request->modes;
	static struct jp_option rows[9];
	const struct jp_option all_rows[] = {
		{"--fail-if", .value = "METRIC>X[%]", .parse = parse_limit,
		 .context = &request->limit, .modes = modes,
		 .help = "exit with 1 if METRIC exceeds X: single_frame, addresses_unmapped, "
			 "rootless, lost_records, lost_events, lost_samples, user_stacks, "
			 "addresses, samples"},
		{"--unwind", .set = &request->unwind, .modes = modes,
		 .help = "unwind the stack dumps, too"},
		{"--method", .value = "METHOD", .parse = parse_method, .context = request,
		 .modes = modes, .help = "unwind by dump (default), dump_fp or dump_cfi"},
		{"--frame-pointers", .set = &request->frame_pointers, .modes = modes,
		 .help = "unwind, and guess by frame pointers where a file has no call frame "
			 "information, as perf does"},
		{"--stacks", .value = "OUT", .text = &request->stacks, .modes = modes,
		 .help = "unwind, and write each stack to OUT as a line of JSON"},
		{"--elf", .value = "DIR", .text = &request->elf, .modes = modes,
		 .help = "look for ELF files in DIR first, whatever its layout: by build id, else "
			 "by path or name"},
		{"--root", .value = "DIR", .text = &request->root, .modes = modes,
		 .help = "look for all files below DIR, a copied root"},
		{"--partial", .set = &request->partial, .modes = modes,
		 .help = "accept a truncated file, and judge its complete part"},
		{0}};

	return memcpy(rows, all_rows, sizeof(all_rows));
}

static void unwind_sample(struct judgement *judgement, const struct jp_event *event)
{
	static uint64_t frames[FRAMES];
	struct jp_unwound unwound;

	/* Skip samples without a stack dump, such as those of kernel threads: there is nothing to
	 * unwind. */
	if (!event->sample.stack)
		return;
	if (!event->sample.regs) {
		judgement->report.unwound.no_registers += event->sample.regs_abi == 0;
		judgement->report.unwound.bits_32 += event->sample.regs_abi == 1;
		judgement->report.unwound.other_machine += event->sample.regs_abi > 1;
		return;
	}
	judgement->report.unwound.samples++;
	jp_unwind(judgement->unwinder, judgement->report.replay, event, judgement->method, frames,
		  FRAMES, &unwound);
	judgement->report.unwound.frames += unwound.count;
	judgement->report.unwound.stops[unwound.stop]++;
	if (judgement->stacks)
		write_stack(judgement->stacks, event, &unwound);
}

static int handle_event(void *context, const struct jp_event *event)
{
	struct judgement *judgement = context;

	if (judgement->unwinder && event->type == JP_EVENT_SAMPLE)
		unwind_sample(judgement, event);
	return jp_file_figures_count(judgement->report.figures, event)
		       ?: jp_file_names_count(judgement->report.names, event);
}

static int judge_capture(struct judgement *judgement, const struct jp_judge_request *options,
			 struct jp_error *err)
{
	const bool unwinds = options->unwind || options->stacks || options->frame_pointers;
	int ret;

	judgement->report.replay = jp_replay_new();
	judgement->report.figures = jp_file_figures_new(judgement->report.replay);
	judgement->report.file = options->file;
	judgement->report.unwinds = unwinds;
	judgement->method = options->method;
	judgement->finder = jp_file_finder_new();
	if (judgement->finder)
		judgement->report.names =
			jp_file_names_new(judgement->report.replay, judgement->finder);
	if (unwinds && judgement->finder)
		judgement->unwinder = jp_unwinder_new(options->elf, judgement->finder);
	judgement->report.unwinder = judgement->unwinder;
	if (!judgement->report.replay || !judgement->report.figures || !judgement->report.names ||
	    (unwinds && !judgement->unwinder))
		return jp_fail(err, ENOMEM, "out of memory");
	ret = jp_file_finder_open(judgement->finder, options->elf, options->root, err);
	if (ret)
		return ret;
	if (unwinds)
		jp_unwinder_frame_pointers(judgement->unwinder, options->frame_pointers);
	*err = (struct jp_error){""};
	ret = jp_capture_read(options->file, handle_event, judgement, &judgement->report.summary,
			      err);
	ret = jp_capture_accept_partial(ret, &judgement->report.summary, options->partial, err);
	if (!ret && judgement->report.summary.cut_short)
		fprintf(stderr, "jitproof judge: note: %s\n", err->text);
	if (judgement->stacks) {
		const int unwritten =
			jp_file_finish(judgement->stacks, options->stacks, ret ? NULL : err);

		if (unwritten) {
			jp_new_file_discard(&judgement->stacks_file);
			return ret ?: unwritten;
		}
	}
	/* Keep the stacks of the readable part of a damaged file. */
	if (judgement->stacks && jp_new_file_publish(&judgement->stacks_file, ret ? NULL : err))
		return ret ?: -EIO;
	if (ret && !*err->text)
		return jp_fail(err, -ret, "%s: %s", options->file, strerror(-ret));
	if (!ret)
		jp_file_figures_total(judgement->report.figures, &judgement->report.total);
	return ret ?: jp_shortage_describe(err->text, sizeof(err->text));
}

static int check_limit(const struct judgement *judgement, const struct jp_judge_request *options)
{
	const struct metric *metric = find_metric(judgement, options->limit.name);

	return !metric ? JP_EXIT_OK
		       : jp_limit_check(&options->limit, "judge", options->file, metric->count,
					metric->total);
}

int jp_judge_file(const struct jp_judge_request *options, bool confined)
{
	struct judgement judgement = {0};
	struct jp_error err;
	int status = JP_EXIT_BROKEN;

	if (options->stacks &&
	    !(judgement.stacks = jp_new_file_stream(&judgement.stacks_file, options->stacks, &err)))
		return jp_command_fail("judge", &err);
	if (confined &&
	    jp_reading_begin("judge", options->file, options->elf, options->root, &status))
		return status;
	if (judge_capture(&judgement, options, &err)) {
		status = jp_command_fail("judge", &err);
	} else {
		if (options->json)
			jp_file_report_json(&judgement.report);
		else
			jp_file_report_text(&judgement.report);
		status = jp_reading_end("judge", check_limit(&judgement, options));
	}
	if (judgement.unwinder)
		jp_unwinder_free(judgement.unwinder);
	jp_file_names_free(judgement.report.names);
	jp_file_finder_free(judgement.finder);
	jp_file_figures_free(judgement.report.figures);
	jp_replay_free(judgement.report.replay);
	return status;
}
