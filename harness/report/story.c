// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/story.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/path.h"
#include "harness/base/terminal.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/truth/reader.h"
#include "harness/format/truth/tally.h"
#include "harness/model/causes/causes.h"
#include "harness/outcome/expect.h"
#include "harness/report/figures.h"

enum { INDENT = 4, LONGEST = 2048 };

/* The acts of a workload according to its truth. */
struct story_acts {
	uint64_t start, end; /* ns */
	uint64_t counts[JP_ACTS], starts[JP_START_KINDS], executable, bytes;
};

/* Prints words from column @indent on. */
__attribute__((format(printf, 3, 4))) static void put(unsigned int width, unsigned int indent,
						      const char *fmt, ...)
{
	char text[LONGEST];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("%*s", (int)indent, "");
	jp_terminal_put_words(stdout, text, indent, width);
}

static int count_act(void *context, const struct jp_event *event)
{
	const enum jp_act act = jp_act_find_kind(event);
	struct story_acts *acts = context;

	if (!acts->start || event->before < acts->start)
		acts->start = event->before;
	if (event->after > acts->end)
		acts->end = event->after;
	if (act == JP_ACTS)
		return 0;
	acts->counts[act]++;
	if (act == JP_ACT_PROCESS || act == JP_ACT_EXEC)
		acts->starts[event->task.start_kind]++;
	else if (act == JP_ACT_MAP)
		acts->executable += event->map.prot & JP_PROT_EXEC ? 1 : 0;
	else if (act == JP_ACT_LOAD)
		acts->bytes += event->code.size;
	return 0;
}

static void put_argv(unsigned int width, char *const *argv)
{
	char text[LONGEST] = "";
	size_t length = 0;

	for (; *argv && length < sizeof(text); argv++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   length ? " " : "", *argv);
	put(width, INDENT, "%s", text);
}

static void put_workload(const struct jp_result *result, const char *dir, unsigned int width)
{
	struct story_acts acts = {0};
	struct jp_truth_reader *reader;
	struct jp_error err = {""};
	char path[4096];
	int ret = jp_path_build(path, sizeof(path), &err, "%s/truth", dir);

	puts("\nWhat the workload did");
	put_argv(width, result->cas->workload_argv);
	reader = ret ? NULL : jp_truth_reader_open(path, &err);
	if (!reader) {
		put(width, INDENT, "%s", err.text);
		return;
	}
	if (jp_truth_reader_visit(reader, count_act, &acts))
		put(width, INDENT, "out of memory: the rest of the truth is not counted");
	put(width, INDENT,
	    "processes: %" PRIu64 " launched, %" PRIu64 " forked, %" PRIu64 " by vfork, %" PRIu64
	    " by exec, %" PRIu64 " by clone with shared memory; %" PRIu64
	    " more threads; in %.3f s",
	    acts.starts[JP_START_LAUNCH], acts.starts[JP_START_FORK], acts.starts[JP_START_VFORK],
	    acts.starts[JP_START_EXEC], acts.starts[JP_START_SHARE], acts.counts[JP_ACT_THREAD],
	    (double)(acts.end - acts.start) / 1e9);
	put(width, INDENT,
	    "mappings: %" PRIu64 " mapped (%" PRIu64 " executable), %" PRIu64 " protected, %" PRIu64
	    " moved, %" PRIu64 " unmapped",
	    acts.counts[JP_ACT_MAP], acts.executable, acts.counts[JP_ACT_PROTECT],
	    acts.counts[JP_ACT_REMAP], acts.counts[JP_ACT_UNMAP]);
	put(width, INDENT,
	    "functions: %" PRIu64 " loaded (%" PRIu64 " bytes), %" PRIu64 " moved, %" PRIu64
	    " unloaded; entered %" PRIu64 " times",
	    acts.counts[JP_ACT_LOAD], acts.bytes, acts.counts[JP_ACT_MOVE],
	    acts.counts[JP_ACT_UNLOAD], acts.counts[JP_ACT_ENTER]);
	if (reader->torn || reader->gaps || reader->overflow)
		put(width, INDENT,
		    "incomplete: %" PRIu64 " torn records, %" PRIu64 " gaps, %" PRIu64 " lost",
		    reader->torn, reader->gaps, reader->overflow);
	jp_truth_reader_free(reader);
}

static void put_capture(const struct jp_result *result, unsigned int width)
{
	const struct jp_capture_info *info = &result->info;
	const struct jp_case *cas = result->cas;

	puts("\nHow it was watched");
	put_argv(width, cas->capture_argv);
	if (cas->publish)
		put(width, INDENT, "published: %s", cas->publish);
	if (cas->inject)
		put(width, INDENT, "injected: %s", cas->inject);
	if (cas->control)
		put(width, INDENT, "control: %s must be caught", cas->control);
	if (info->policy[0])
		put(width, INDENT, "mappings older than the capture: policy %s", info->policy);
	put(width, INDENT,
	    "%" PRIu64 " samples, %" PRIu64 " a second; lost: %" PRIu64 " samples, %" PRIu64
	    " other records; clocks differ by at most %" PRIu64 " ns",
	    info->samples, info->frequency, info->lost_samples, info->lost_sideband, info->slack);
}

static void put_exceptions(const struct jp_result *result, unsigned int width)
{
	const struct jp_findings *findings = &result->findings;

	printf("\nExceptions: %zu kinds of metric and cause\n", findings->nr_exceptions);
	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];
		const struct jp_expectation *allow = jp_expect_find_permission(result, exception);
		const struct jp_cause *cause =
			jp_cause_of_word(exception->metric, exception->cause);
		char word[80], bound[80];

		put(width, INDENT, "%s: %" PRIu64 " with cause %s%s%s", exception->metric,
		    exception->count,
		    jp_cause_text(exception->metric, exception->cause, word, sizeof(word)),
		    cause ? ": " : "", cause ? cause->text : "");
		if (allow)
			put(width, 2 * INDENT, "allowed %s: %s",
			    jp_expect_bound(allow, bound, sizeof(bound)), allow->reason);
		else
			put(width, 2 * INDENT, "%s",
			    result->cas->control ? "judged as a control" : "nothing allows it");
		put(width, 2 * INDENT, "first: %s", exception->example);
	}
	for (size_t i = 0; i < findings->nr_skipped; i++)
		put(width, INDENT, "not judged: %s: the capture declares %s",
		    findings->skipped[i].validator, findings->skipped[i].lack);
}

static bool accept_name(const char *name)
{
	return name[0] != '.';
}

static void put_files(const char *dir, unsigned int width)
{
	jp_cleanup_arguments struct jp_arguments names = {0};
	struct jp_error err = {""};
	char short_text[4096], text[LONGEST] = "";
	size_t length = 0;

	printf("\nFiles\n%*s%s:\n", INDENT, "",
	       jp_terminal_shorten(dir, width - INDENT - 1, JP_CUT_MIDDLE, short_text,
				   sizeof(short_text)));
	if (jp_untrusted_list(dir, &names, accept_name, &err))
		put(width, INDENT, "%s", err.text);
	for (size_t i = 0; i < names.count && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s ",
					   names.list[i]);
	put(width, INDENT, "%s", text);
}

void jp_story_print(const struct jp_result *result, const char *dir, unsigned int width)
{
	const struct jp_case *cas = result->cas;
	char line[LONGEST];

	printf("%s: %s in %.1f s\n", cas->name, jp_outcome_text(result->outcome), result->seconds);
	if (result->crashed[0])
		put(width, INDENT, "%s killed a profiler", result->crashed);
	for (const char *reason = result->reasons; *reason; reason += strspn(reason, "\n")) {
		const int length = (int)strcspn(reason, "\n");

		snprintf(line, sizeof(line), "%.*s", length, reason);
		put(width, INDENT, "%s", line);
		reason += length;
	}
	if (cas->xfail)
		put(width, INDENT, "known failure: %s", cas->xfail);
	put_workload(result, dir, width);
	put_capture(result, width);
	put_exceptions(result, width);
	putchar('\n');
	put(width, 0, "%s", JP_FIGURES_HEAD);
	jp_figures_print(stdout, result, "    ", width);
	jp_accounts_print(stdout, (struct jp_accounts *)&result->findings.accounts, "    ", width);
	jp_accounts_explain(stdout, &result->findings.accounts, "    ", width);
	put_files(dir, width);
}
