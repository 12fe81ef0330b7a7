// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/judge_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/command/command.h"
#include "harness/base/arguments.h"
#include "harness/command/limit.h"
#include "harness/command/reading.h"
#include "harness/base/cleanup.h"
#include "harness/base/error.h"
#include "harness/base/new_file.h"
#include "harness/base/shortage.h"
#include "harness/format/capture/capture_read.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/space/replay.h"
#include "harness/model/unwind/stack_lines.h"
#include "harness/report/file_report.h"

enum { FRAMES = 1024 };

struct options {
	bool json, unwind, frame_pointers, partial;
	enum jp_method method; /* to unwind by */
	const char *elf, *root, *file;
	const char *stacks;    /* a file for them, or NULL */
	struct jp_limit limit; /* of --fail-if */
};

struct judgement {
	struct jp_file_report report;
	struct jp_file_finder *finder;
	struct jp_unwinder *unwinder; /* NULL: not asked for */
	enum jp_method method;
	FILE *stacks; /* NULL: not asked for */
	struct jp_new_file stacks_file;
};

/* A figure that --fail-if knows, and what a percentage of it is of. */
struct metric {
	const char *name;
	uint64_t count, of;
};

static size_t list_metrics(const struct judgement *judgement, struct metric metrics[12])
{
	const struct jp_figures *total = &judgement->report.total;
	const struct jp_perfdata_summary *summary = &judgement->report.summary;
	const struct metric all[] = {
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

	memcpy(metrics, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

void jp_judge_usage(FILE *out)
{
	fputs("usage: jitproof judge [--expected DIR] [--results OUT] DIR\n"
	      "       jitproof judge [--json] [--fail-if METRIC>X[%]] [--unwind]\n"
	      "                      [--method METHOD] [--frame-pointers] [--stacks OUT]\n"
	      "                      [--elf DIR] [--root DIR] [--partial] FILE\n"
	      "       jitproof judge --truth TRUTH [--injected INJECTED] [--slack NS] [--json]\n"
	      "                      [-o DIR] FILE\n"
	      "  DIR                   a run directory, or a case's folder in one\n"
	      "  --expected DIR        expectations from the files in DIR, not from the run\n"
	      "  --results OUT         write results.jsonl to the new file OUT\n"
	      "  FILE                  perf.data (-: standard input), or observations\n"
	      "  --json                the figures as one object\n"
	      "  --fail-if METRIC>X[%] exit with 1 if METRIC exceeds X: single_frame,\n"
	      "                        addresses_unmapped, rootless, lost_records, lost_events,\n"
	      "                        lost_samples, user_stacks, addresses, samples\n"
	      "  --unwind              unwind the stack dumps too\n"
	      "  --method METHOD       unwind by dump (default), dump_fp or dump_cfi\n"
	      "  --frame-pointers      unwind, and follow frame pointers where a file has no call\n"
	      "                        frame information, as perf does: a guess\n"
	      "  --stacks OUT          unwind, and write each stack to OUT as a line of JSON\n"
	      "  --elf DIR             look for ELF files in DIR first, whatever its layout: by "
	      "build\n"
	      "                        id, else by path or name\n"
	      "  --root DIR            look for all files below DIR, a copied root\n"
	      "  --partial             of a file that is cut short: judge what lies before\n"
	      "  --truth TRUTH         hold FILE, of CLOCK_MONOTONIC, against what a workload "
	      "wrote\n"
	      "  --injected INJECTED   judge names by INJECTED, which was made of FILE\n"
	      "  --slack NS            between the clocks of both (measured on this machine)\n"
	      "  -o DIR                keep what was gathered as a run directory, DIR\n",
	      out);
}

static int usage(const char *problem, const char *what)
{
	fprintf(stderr, "jitproof judge: %s%s\n", problem, what);
	jp_judge_usage(stderr);
	return -1;
}

/* NULL: there is none called @name. */
static const struct metric *find_metric(const struct judgement *judgement, const char *name)
{
	static struct metric metrics[12];
	size_t count = list_metrics(judgement, metrics);

	while (count && strcmp(metrics[count - 1].name, name) != 0)
		count--;
	return count ? &metrics[count - 1] : NULL;
}

static int parse_fail_if(struct options *options, const char *text)
{
	const char *problem =
		jp_limit_parse(&options->limit, text, "expected METRIC>X after --fail-if, found ");

	if (problem)
		return usage(problem, text);
	return find_metric(&(struct judgement){0}, options->limit.name)
		       ? 0
		       : usage("no metric called ", options->limit.name);
}

static int parse_method(struct options *options, const char *text)
{
	for (enum jp_method method = 0; method < JP_METHODS; method++) {
		if (method != JP_CHAIN && strcmp(text, jp_method_name(method)) == 0) {
			options->method = method;
			options->unwind = true;
			return 0;
		}
	}
	return usage("expected dump, dump_fp or dump_cfi after --method, found ", text);
}

static int parse(struct options *options, int argc, char **argv)
{
	options->method = JP_DUMP;
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *value;

		if (strcmp(arg, "--json") == 0) {
			options->json = true;
		} else if (strcmp(arg, "--unwind") == 0) {
			options->unwind = true;
		} else if (strcmp(arg, "--frame-pointers") == 0) {
			options->frame_pointers = true;
		} else if (strcmp(arg, "--partial") == 0) {
			options->partial = true;
		} else if ((value = jp_arguments_value("--fail-if", argc, argv, &i))) {
			if (parse_fail_if(options, value))
				return -1;
		} else if ((value = jp_arguments_value("--method", argc, argv, &i))) {
			if (parse_method(options, value))
				return -1;
		} else if ((value = jp_arguments_value("--elf", argc, argv, &i))) {
			options->elf = value;
		} else if ((value = jp_arguments_value("--root", argc, argv, &i))) {
			options->root = value;
		} else if ((value = jp_arguments_value("--stacks", argc, argv, &i))) {
			options->stacks = value;
		} else if (strcmp(arg, "--fail-if") == 0 || strcmp(arg, "--elf") == 0 ||
			   strcmp(arg, "--root") == 0 || strcmp(arg, "--stacks") == 0 ||
			   strcmp(arg, "--method") == 0) {
			return usage("expected a value after ", arg);
		} else if (arg[0] == '-' && arg[1]) {
			return usage("no option ", arg);
		} else if (options->file) {
			return usage("more than one file: ", arg);
		} else {
			options->file = arg;
		}
	}
	options->unwind |= options->stacks || options->frame_pointers;
	return options->file ? 0 : usage("no file", "");
}

static void unwind(struct judgement *judgement, const struct jp_event *event)
{
	static uint64_t frames[FRAMES];
	struct jp_unwound unwound;

	/* A sample of a kernel thread or of an event without dumps has nothing to unwind. */
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
		jp_stack_line(judgement->stacks, event, &unwound);
}

static int visit(void *context, const struct jp_event *event)
{
	struct judgement *judgement = context;

	if (judgement->unwinder && event->type == JP_EVENT_SAMPLE)
		unwind(judgement, event);
	return jp_file_figures_count(judgement->report.figures, event)
		       ?: jp_file_names_count(judgement->report.names, event);
}

static int open_stacks(struct judgement *judgement, const char *path, struct jp_error *err)
{
	int fd = path ? jp_new_file_open(&judgement->stacks_file, path, 0666, err) : 0;

	if (fd <= 0)
		return fd;
	judgement->stacks = fdopen(fd, "w");
	if (judgement->stacks)
		return 0;
	close(fd);
	jp_new_file_drop(&judgement->stacks_file);
	return jp_fail(err, errno, "%s: %s", path, strerror(errno));
}

static int judge(struct judgement *judgement, const struct options *options, struct jp_error *err)
{
	int ret;

	judgement->report.replay = jp_replay_new();
	judgement->report.figures = jp_file_figures_new(judgement->report.replay);
	judgement->report.file = options->file;
	judgement->report.unwinds = options->unwind;
	judgement->method = options->method;
	judgement->finder = jp_file_finder_new();
	if (judgement->finder)
		judgement->report.names =
			jp_file_names_new(judgement->report.replay, judgement->finder);
	if (options->unwind && judgement->finder)
		judgement->unwinder = jp_unwinder_new(options->elf, judgement->finder);
	judgement->report.unwinder = judgement->unwinder;
	if (!judgement->report.replay || !judgement->report.figures || !judgement->report.names ||
	    (options->unwind && !judgement->unwinder))
		return jp_fail(err, ENOMEM, "no memory");
	ret = jp_file_finder_from(judgement->finder, options->elf, options->root, err);
	if (ret)
		return ret;
	if (options->unwind)
		jp_unwinder_frame_pointers(judgement->unwinder, options->frame_pointers);
	*err = (struct jp_error){""};
	ret = jp_capture_read(options->file, visit, judgement, &judgement->report.summary, err);
	ret = jp_capture_partial(ret, &judgement->report.summary, options->partial, err);
	if (!ret && judgement->report.summary.cut_short)
		fprintf(stderr, "jitproof judge: note: %s\n", err->text);
	if (judgement->stacks && (ferror(judgement->stacks) | fclose(judgement->stacks))) {
		jp_new_file_drop(&judgement->stacks_file);
		return ret ?: jp_fail(err, EIO, "%s: cannot be written", options->stacks);
	}
	/* What could be read of a bad file is kept. */
	if (judgement->stacks && jp_new_file_keep(&judgement->stacks_file, ret ? NULL : err))
		return ret ?: -EIO;
	if (ret && !*err->text)
		return jp_fail(err, -ret, "%s: %s", options->file, strerror(-ret));
	if (!ret)
		jp_file_figures_total(judgement->report.figures, &judgement->report.total);
	return ret ?: jp_shortage(err->text, sizeof(err->text));
}

static int verdict(const struct judgement *judgement, const struct options *options)
{
	const struct metric *metric = find_metric(judgement, options->limit.name);

	return !metric ? JP_EXIT_OK
		       : jp_limit_verdict(&options->limit, "judge", options->file, metric->count,
					  metric->of);
}

int jp_judge_file(int argc, char **argv, bool confined)
{
	struct judgement judgement = {0};
	struct options options = {0};
	struct jp_error err;
	int status = JP_EXIT_BROKEN;

	if (parse(&options, argc, argv))
		return JP_EXIT_USAGE;
	if (open_stacks(&judgement, options.stacks, &err)) {
		fprintf(stderr, "jitproof judge: %s\n", err.text);
		return JP_EXIT_BROKEN;
	}
	if (confined &&
	    jp_reading_begins("judge", options.file, options.elf, options.root, &status))
		return status;
	if (judge(&judgement, &options, &err)) {
		fprintf(stderr, "jitproof judge: %s\n", err.text);
	} else {
		if (options.json)
			jp_file_report_json(&judgement.report);
		else
			jp_file_report_text(&judgement.report);
		status = jp_reading_ends("judge", verdict(&judgement, &options));
	}
	if (judgement.unwinder)
		jp_unwinder_free(judgement.unwinder);
	jp_file_names_free(judgement.report.names);
	jp_file_finder_free(judgement.finder);
	jp_file_figures_free(judgement.report.figures);
	jp_replay_free(judgement.report.replay);
	return status;
}
