// SPDX-License-Identifier: GPL-2.0-only
#include "harness/command/judge_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/command/command.h"
#include "harness/base/error.h"
#include "harness/judge/file_figures.h"
#include "harness/base/json.h"
#include "harness/format/perfdata/read.h"
#include "harness/model/space/replay.h"
#include "harness/model/unwind/stack_lines.h"
#include "harness/model/unwind/unwind.h"

enum { FRAMES = 1024 };

struct options {
	bool json, unwind, frame_pointers;
	enum jp_method method; /* to unwind by */
	const char *elf, *file;
	const char *stacks; /* a file for them, or NULL */
	char metric[32];    /* of --fail-if, "": none */
	double above;
	bool percent;
};

struct judgement {
	struct jp_replay *replay;
	struct jp_file_figures *figures;
	struct jp_unwinder *unwinder; /* NULL: not asked for */
	enum jp_method method;
	FILE *stacks; /* NULL: not asked for */
	struct {
		uint64_t samples, frames, stops[JP_UNWIND_STOPS];
	} unwound;
	struct jp_perfdata_summary summary;
	struct jp_figures total;
};

/* A figure that --fail-if knows, and what a percentage of it is of. */
struct metric {
	const char *name;
	uint64_t count, of;
};

static size_t list_metrics(const struct judgement *judgement, struct metric metrics[12])
{
	const struct jp_figures *total = &judgement->total;
	const struct jp_perfdata_summary *summary = &judgement->summary;
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

/* --- options ------------------------------------------------------------------------------ */

void jp_judge_usage(FILE *out)
{
	fputs("usage: jitproof judge [--expected DIR] [--results OUT] DIR\n"
	      "       jitproof judge [--json] [--fail-if METRIC>X[%]] [--unwind]\n"
	      "                      [--method METHOD] [--frame-pointers] [--stacks OUT]\n"
	      "                      [--elf DIR] FILE\n"
	      "  DIR                   a run directory, or a case's folder in one\n"
	      "  --expected DIR        what to expect, from the files in DIR; else as it was run\n"
	      "  --results OUT         write what results.jsonl holds to the new file OUT\n"
	      "  FILE                  a perf.data file; -: standard input\n"
	      "  --json                the figures as one object\n"
	      "  --fail-if METRIC>X[%] exit with 1 if it is; METRIC: single_frame,\n"
	      "                        addresses_unmapped, rootless, lost_records, lost_events,\n"
	      "                        lost_samples, user_stacks, addresses, samples\n"
	      "  --unwind              unwind the stack dumps too\n"
	      "  --method METHOD       that, by dump (default), dump_fp or dump_cfi\n"
	      "  --frame-pointers      that, and follow frame pointers where a file has no call\n"
	      "                        frame information, as perf does: a guess\n"
	      "  --stacks OUT          unwind, and write each stack to OUT as a line of JSON\n"
	      "  --elf DIR             look for ELF files in DIR first\n",
	      out);
}

static int usage(const char *problem, const char *what)
{
	fprintf(stderr, "jitproof judge: %s%s\n", problem, what);
	jp_judge_usage(stderr);
	return -1;
}

static int parse_fail_if(struct options *options, const char *text)
{
	const char *greater = strchr(text, '>');
	struct judgement none = {0};
	struct metric metrics[12];
	size_t length = greater ? (size_t)(greater - text) : 0, count;
	char *end;

	if (!length || length >= sizeof(options->metric))
		return usage("expected METRIC>X after --fail-if, found ", text);
	memcpy(options->metric, text, length);
	options->metric[length] = '\0';
	count = list_metrics(&none, metrics);
	while (count && strcmp(metrics[count - 1].name, options->metric) != 0)
		count--;
	if (!count)
		return usage("no metric called ", options->metric);
	options->above = strtod(greater + 1, &end);
	options->percent = *end == '%';
	if (end == greater + 1 || strcmp(end, options->percent ? "%" : "") != 0 ||
	    !(options->above >= 0))
		return usage("expected a number after > in ", text);
	return 0;
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
		const char *arg = argv[i];

		if (strcmp(arg, "--json") == 0) {
			options->json = true;
		} else if (strcmp(arg, "--unwind") == 0) {
			options->unwind = true;
		} else if (strcmp(arg, "--frame-pointers") == 0) {
			options->frame_pointers = true;
		} else if (strncmp(arg, "--fail-if=", 10) == 0) {
			if (parse_fail_if(options, arg + 10))
				return -1;
		} else if (strncmp(arg, "--method=", 9) == 0) {
			if (parse_method(options, arg + 9))
				return -1;
		} else if (strncmp(arg, "--elf=", 6) == 0) {
			options->elf = arg + 6;
		} else if (strncmp(arg, "--stacks=", 9) == 0) {
			options->stacks = arg + 9;
		} else if (strcmp(arg, "--fail-if") == 0 || strcmp(arg, "--elf") == 0 ||
			   strcmp(arg, "--stacks") == 0 || strcmp(arg, "--method") == 0) {
			if (i + 1 == argc)
				return usage("expected a value after ", arg);
			if (strcmp(arg, "--elf") == 0)
				options->elf = argv[++i];
			else if (strcmp(arg, "--stacks") == 0)
				options->stacks = argv[++i];
			else if (strcmp(arg, "--method") == 0 ? parse_method(options, argv[++i])
							      : parse_fail_if(options, argv[++i]))
				return -1;
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

/* --- judging ------------------------------------------------------------------------------ */

static void unwind(struct judgement *judgement, const struct jp_event *event)
{
	static uint64_t frames[FRAMES];
	struct jp_unwound unwound;

	/* A sample of a kernel thread or of an event without dumps has nothing to unwind. */
	if (!event->sample.regs || !event->sample.stack)
		return;
	judgement->unwound.samples++;
	jp_unwind(judgement->unwinder, judgement->replay, event, judgement->method, frames, FRAMES,
		  &unwound);
	judgement->unwound.frames += unwound.count;
	judgement->unwound.stops[unwound.stop]++;
	if (judgement->stacks)
		jp_stack_line(judgement->stacks, event, &unwound);
}

static int visit(void *context, const struct jp_event *event)
{
	struct judgement *judgement = context;

	if (judgement->unwinder && event->type == JP_EVENT_SAMPLE)
		unwind(judgement, event);
	return jp_file_figures_count(judgement->figures, event);
}

static int judge(struct judgement *judgement, const struct options *options, struct jp_error *err)
{
	int ret;

	judgement->replay = jp_replay_new();
	judgement->figures = jp_file_figures_new(judgement->replay);
	judgement->method = options->method;
	if (options->unwind)
		judgement->unwinder = jp_unwinder_new(options->elf, true);
	if (!judgement->replay || !judgement->figures || (options->unwind && !judgement->unwinder))
		return jp_fail(err, ENOMEM, "no memory");
	if (options->unwind)
		jp_unwinder_frame_pointers(judgement->unwinder, options->frame_pointers);
	if (options->stacks) {
		judgement->stacks = fopen(options->stacks, "we");
		if (!judgement->stacks)
			return jp_fail(err, errno, "%s: %s", options->stacks, strerror(errno));
	}
	*err = (struct jp_error){""};
	ret = jp_perfdata_read(options->file, visit, judgement, &judgement->summary, err);
	if (judgement->stacks && (ferror(judgement->stacks) | fclose(judgement->stacks)) && !ret)
		return jp_fail(err, EIO, "%s: cannot be written", options->stacks);
	if (ret && !*err->text)
		return jp_fail(err, -ret, "%s: %s", options->file, strerror(-ret));
	if (!ret)
		jp_file_figures_total(judgement->figures, &judgement->total);
	return ret;
}

/* --- JSON --------------------------------------------------------------------------------- */

static void json_places(struct jp_json *json, const char *key, const uint64_t *counts, size_t count)
{
	jp_json_object(json, key);
	for (size_t i = 0; i < count; i++)
		jp_json_u64(json, jp_place_text[i], counts[i]);
	jp_json_end(json);
}

static void json_figures(struct jp_json *json, const struct jp_figures *figures)
{
	jp_json_u64(json, "samples", figures->samples);
	jp_json_u64(json, "user_stacks", figures->user_stacks);
	jp_json_u64(json, "single_frame", figures->single_frame);
	jp_json_u64(json, "addresses", figures->addresses);
	jp_json_u64(json, "addresses_unmapped", figures->addresses_unmapped);
	jp_json_u64(json, "rootless", figures->rootless);
	json_places(json, "mmap2", figures->mmap2, JP_MAP_PLACES);
	json_places(json, "sampled", figures->sampled, JP_PLACES);
}

static void json_unwound(struct jp_json *json, const struct judgement *judgement)
{
	uint64_t samples = judgement->unwound.samples, frames = judgement->unwound.frames;

	jp_json_object(json, "unwind");
	jp_json_u64(json, "samples", samples);
	jp_json_u64(json, "frames", frames);
	jp_json_double(json, "frames_per_sample", samples ? (double)frames / samples : 0);
	jp_json_object(json, "stops");
	for (int stop = 0; stop < JP_UNWIND_STOPS; stop++)
		jp_json_u64(json, jp_unwind_stop_text(stop), judgement->unwound.stops[stop]);
	jp_json_end(json);
	jp_json_end(json);
}

static void print_json(struct judgement *judgement, const struct options *options)
{
	const struct jp_perfdata_summary *summary = &judgement->summary;
	const struct jp_process_figures *const *processes;
	struct jp_json json;
	size_t count;

	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	jp_json_string(&json, "file", options->file);
	json_figures(&json, &judgement->total);
	jp_json_u64(&json, "lost_records", summary->lost_records);
	jp_json_u64(&json, "lost_events", summary->lost_events);
	jp_json_u64(&json, "lost_samples", summary->lost_samples);
	jp_json_u64(&json, "records", summary->records);
	jp_json_u64(&json, "unknown_records", summary->unknown_records);
	jp_json_u64(&json, "attrs", summary->attrs);
	jp_json_bool(&json, "compressed", summary->compressed);
	jp_json_bool(&json, "pipe", summary->pipe);
	jp_json_bool(&json, "monotonic", summary->monotonic);
	if (judgement->unwinder)
		json_unwound(&json, judgement);
	jp_json_array(&json, "processes");
	processes = jp_file_figures_processes(judgement->figures, &count);
	for (size_t i = 0; i < count; i++) {
		jp_json_object(&json, NULL);
		jp_json_u64(&json, "pid", processes[i]->pid);
		jp_json_string(&json, "comm", jp_replay_comm(judgement->replay, processes[i]->pid));
		json_figures(&json, &processes[i]->figures);
		jp_json_end(&json);
	}
	jp_json_end(&json);
	jp_json_end(&json);
}

/* --- text --------------------------------------------------------------------------------- */

/* A process names itself: nothing that moves the cursor gets through. */
static const char *printable(const char *name, char *capacity, size_t size)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < size; i++)
		capacity[i] = (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];
	capacity[i] = '\0';
	return capacity;
}

static void print_share(const char *what, uint64_t count, uint64_t of, const char *of_what)
{
	printf("  %-44s %12" PRIu64, what, count);
	if (of)
		printf("  %6.2f %% of %" PRIu64 " %s", 100.0 * count / of, of, of_what);
	putchar('\n');
}

static void print_row(const struct jp_figures *figures)
{
	printf(" %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %12" PRIu64 " %10" PRIu64
	       "\n",
	       figures->samples, figures->user_stacks, figures->single_frame, figures->rootless,
	       figures->addresses, figures->addresses_unmapped);
}

static void print_processes(struct judgement *judgement)
{
	const struct jp_process_figures *const *processes;
	char capacity[20];
	size_t count;

	processes = jp_file_figures_processes(judgement->figures, &count);
	printf("\n%10s %-16s %10s %10s %10s %10s %12s %10s\n", "pid", "process", "samples",
	       "stacks", "single", "rootless", "addresses", "unmapped");
	for (size_t i = 0; i < count; i++) {
		printf("%10d %-16s", (int)processes[i]->pid,
		       printable(jp_replay_comm(judgement->replay, processes[i]->pid), capacity,
				 sizeof(capacity)));
		print_row(&processes[i]->figures);
	}
	printf("%10s %-16s", "", "all");
	print_row(&judgement->total);
}

static void print_places(struct judgement *judgement)
{
	const struct jp_process_figures *const *processes;
	size_t count;

	processes = jp_file_figures_processes(judgement->figures, &count);
	printf("\nwhere sampled addresses lie, and mapping records (MMAP2) by kind\n%10s", "pid");
	for (int place = 0; place < JP_PLACES; place++)
		printf(" %10s", jp_place_text[place]);
	printf(" |");
	for (int place = 0; place < JP_MAP_PLACES; place++)
		printf(" %7s", jp_place_text[place]);
	putchar('\n');
	for (size_t i = 0; i <= count; i++) {
		const struct jp_figures *figures =
			i < count ? &processes[i]->figures : &judgement->total;

		if (i < count)
			printf("%10d", (int)processes[i]->pid);
		else
			printf("%10s", "all");
		for (int place = 0; place < JP_PLACES; place++)
			printf(" %10" PRIu64, figures->sampled[place]);
		printf(" |");
		for (int place = 0; place < JP_MAP_PLACES; place++)
			printf(" %7" PRIu64, figures->mmap2[place]);
		putchar('\n');
	}
}

static void print_unwound(const struct judgement *judgement)
{
	uint64_t samples = judgement->unwound.samples;

	printf("\nunwinding %" PRIu64 " stack dumps: %.2f frames each; they end\n", samples,
	       samples ? (double)judgement->unwound.frames / samples : 0);
	for (int stop = 0; stop < JP_UNWIND_STOPS; stop++)
		print_share(jp_unwind_stop_text(stop), judgement->unwound.stops[stop], samples,
			    "stacks");
}

static void print_text(struct judgement *judgement, const struct options *options)
{
	const struct jp_figures *total = &judgement->total;
	const struct jp_perfdata_summary *summary = &judgement->summary;

	printf("%s: %" PRIu64 " records, %" PRIu64 " of kinds unknown here, %u event%s%s%s\n",
	       options->file, summary->records, summary->unknown_records, summary->attrs,
	       summary->attrs == 1 ? "" : "s", summary->compressed ? ", compressed" : "",
	       summary->pipe ? ", from a pipe" : "");
	print_share("samples", total->samples, 0, "");
	print_share("with a user stack in the callchain", total->user_stacks, total->samples,
		    "samples");
	print_share("  of a single frame", total->single_frame, total->user_stacks, "stacks");
	print_share("  whose outermost frame is no known root", total->rootless, total->user_stacks,
		    "stacks");
	print_share("user addresses in callchains", total->addresses, 0, "");
	print_share("  in no known mapping", total->addresses_unmapped, total->addresses,
		    "addresses");
	print_share("LOST records", summary->lost_records, 0, "");
	print_share("  that tell of lost events", summary->lost_events, 0, "");
	print_share("lost samples (LOST_SAMPLES)", summary->lost_samples, 0, "");
	if (judgement->unwinder)
		print_unwound(judgement);
	print_processes(judgement);
	print_places(judgement);
}

/* --- the command -------------------------------------------------------------------------- */

static int verdict(const struct judgement *judgement, const struct options *options)
{
	struct metric metrics[12];
	double value;
	size_t i;

	if (!*options->metric)
		return JP_EXIT_OK;
	i = list_metrics(judgement, metrics);
	while (strcmp(metrics[--i].name, options->metric) != 0)
		;
	value = metrics[i].count;
	if (options->percent)
		value = metrics[i].of ? 100 * value / metrics[i].of : 0;
	if (!(value > options->above))
		return JP_EXIT_OK;
	fprintf(stderr, "jitproof judge: %s: %s is %.17g%s, above %.17g\n", options->file,
		options->metric, value, options->percent ? " %" : "", options->above);
	return JP_EXIT_BAD;
}

int jp_judge_file(int argc, char **argv)
{
	struct judgement judgement = {0};
	struct options options = {0};
	struct jp_error err;
	int status = JP_EXIT_BROKEN;

	if (parse(&options, argc, argv))
		return JP_EXIT_USAGE;
	if (judge(&judgement, &options, &err)) {
		fprintf(stderr, "jitproof judge: %s\n", err.text);
	} else {
		if (options.json)
			print_json(&judgement, &options);
		else
			print_text(&judgement, &options);
		status = verdict(&judgement, &options);
		if (fflush(stdout) || ferror(stdout)) {
			fprintf(stderr, "jitproof judge: cannot write to standard output\n");
			status = JP_EXIT_BROKEN;
		}
	}
	if (judgement.unwinder)
		jp_unwinder_free(judgement.unwinder);
	jp_file_figures_free(judgement.figures);
	jp_replay_free(judgement.replay);
	return status;
}
