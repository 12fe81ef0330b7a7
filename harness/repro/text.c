// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "harness/base/printable.h"
#include "harness/outcome/expect.h"
#include "harness/base/json.h"
#include "harness/repro/repro.h"

/* Writes untrusted text without line ends and terminal control characters. */
static void put_text(FILE *out, const char *text)
{
	for (; *(text = jp_printable_put_prefix(out, text)); text++) {
		if (*text == '\t')
			fputc(*text, out);
		else
			fprintf(out, "\\%03o", (unsigned char)*text);
	}
}

static void put_item(FILE *out, const char *prefix, const char *text)
{
	fputs(prefix, out);
	put_text(out, text);
	fputc('\n', out);
}

static void put_words(FILE *out, const char *title, const struct jp_word_set *set)
{
	if (!set->count)
		return;
	fprintf(out, "* %s\n", title);
	for (size_t i = 0; i < set->count; i++)
		put_item(out, "      ", set->words[i]);
}

static void put_lines(FILE *out, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);

		if (line)
			put_item(out, "    ", line);
		free(line);
		text += length + (text[length] == '\n');
	}
}

static void put_version(FILE *out, const struct jp_repro *repro, const char *title,
			const char *outer, const char *inner)
{
	const char *const path[] = {outer, inner, NULL};
	char value[1024];

	if (repro->environment && jp_json_find(repro->environment, path, value, sizeof(value))) {
		fprintf(out, "* %s: ", title);
		put_item(out, "", value);
	}
}

static void put_versions(FILE *out, const struct jp_repro *repro)
{
	fputs("\n## Versions\n\n", out);
	put_version(out, repro, "kernel", "kernel", NULL);
	put_version(out, repro, "kernel's build", "version", NULL);
	put_version(out, repro, "machine", "machine", NULL);
	put_version(out, repro, "CPU", "cpu", NULL);
	put_version(out, repro, "perf", "tools", "perf");
	put_version(out, repro, "C library", "tools", "libc");
	put_version(out, repro, "compiler", "tools", "compiler");
	fprintf(out, "* jitproof: build id %s\n", repro->portable.build_id);
}

static void put_expected(FILE *out, const struct jp_repro *repro)
{
	const struct jp_result *result = &repro->result;
	char range[128], figure[160];

	fputs("\n## Expected\n\nThe case, and what is expected of it, with the reasons behind "
	      "#:\n\n",
	      out);
	put_lines(out, repro->cas->text);
	if (repro->cas->xfail)
		put_item(out, "\nIt is known to fail: ", repro->cas->xfail);
	if (repro->cas->control)
		fputs("\nIt is a control: its capture is wrong on purpose, and must be caught.\n",
		      out);
	fputs("\nBesides, every exception must have a cause that is allowed there, within its "
	      "bound.\n",
	      out);
	for (size_t i = 0; i < repro->cas->nr_expectations; i++) {
		const struct jp_expectation *expectation = &repro->cas->expectations[i];
		const struct jp_metric *metric =
			jp_findings_find_metric(&result->findings, expectation->metric);

		if (expectation->allow[0])
			continue;
		fprintf(out, "%s* %s: expected %s, seen %s%s\n", i ? "" : "\n", expectation->metric,
			jp_expect_range(expectation, range, sizeof(range)),
			metric ? jp_expect_format_beside_range(expectation, metric, figure,
							       sizeof(figure))
			       : "nothing",
			result->out_of_scope >> i & 1 ? " (not about these tools)" : "");
	}
}

static void put_steps(FILE *out, const struct jp_repro *repro)
{
	fputs("\n## Steps\n\n"
	      "    ./reproduce            judges the recorded run again; needs a shell, nothing "
	      "else\n"
	      "    ./reproduce --run DIR  runs the case on this machine into the new folder DIR, "
	      "and\n"
	      "                           judges that; needs /proc, /dev and the right to "
	      "perf_event_open\n\n"
	      "Both print KTAP and end with 0 for good, 1 for a failure, 4 for skipped, 99 for "
	      "broken.\n",
	      out);
	fprintf(out,
		"Where jitproof is installed, `jitproof judge case` and\n"
		"`jitproof run --expected expected '%s'` do the same here.\n",
		repro->cas->name);
}

/* Describes the workload's output and files. */
static void put_case_files(FILE *out, const struct jp_word_set *files)
{
	size_t nr_published = 0;

	for (size_t i = 0; i < files->count; i++) {
		const char *name = files->words[i], *dot = strrchr(name, '.');

		if ((dot && strcmp(dot, ".txt") == 0) || strcmp(name, "crash") == 0 ||
		    strcmp(name, "outcome") == 0)
			fprintf(out, "* `case/%s`: what was printed\n", name);
		else
			nr_published +=
				strncmp(name, "jit", 3) == 0 || strncmp(name, "perf-", 5) == 0;
	}
	if (nr_published)
		fprintf(out,
			"* %zu files `case/jit*` and `case/perf-*`: code and names that the "
			"workload made\n",
			nr_published);
}

static void put_program(FILE *out, const struct jp_portable *portable)
{
	fputs("* `jitproof`: the program that packed this, with the folder that it was built in",
	      out);
	if (!portable->loader) {
		fputs("\n", out);
	} else {
		fputs(";\n  set to take `loader` and `libraries/` from here, which are copies "
		      "of:\n",
		      out);
		put_item(out, "      ", portable->loader);
	}
	for (size_t i = 0; i < portable->libraries.count; i++)
		put_item(out, "      ", portable->libraries.words[i]);
}

static void put_machine_facts(FILE *out, const struct jp_repro *repro)
{
	const struct jp_reduced *reduced = &repro->reduced;

	fputs("\n## What of your machine is in here\n\n", out);
	if (repro->environment) {
		fputs("* `case/env.json`, which is all of this:\n", out);
		put_lines(out, repro->environment);
	}
	put_words(out, "names of processes, in captures:", &reduced->processes);
	put_words(out,
		  "paths, in captures, and of the same files in `truth`, `maps` and `elf/index` "
		  "with device and inode:",
		  &reduced->paths);
	put_words(out, "the command that made a capture, its words in the order of the alphabet:",
		  &reduced->commands);
	put_words(out,
		  "stack dumps hold the command lines of these processes, and these names of "
		  "variables and options; what they are set to is blanked, except in texts of "
		  "less than seven bytes:",
		  &reduced->variables);
	for (size_t i = 0; i < repro->unreduced.count; i++)
		fprintf(out,
			"* ALL that was recorded as `case/%s`: it cannot be read to its end, and "
			"is as it was\n",
			repro->unreduced.words[i]);
	fputs("* of the processes above: pids, addresses, registers and stacks, times since boot; "
	      "of the kernel,\n"
	      "  where it was sampled: addresses\n"
	      "* `case/elf/`: build ids and call frame information of the files that they had "
	      "mapped\n",
	      out);
	put_case_files(out, &repro->files);
	put_program(out, &repro->portable);
	fputs("* `profiler/`: jitproof's adapters of profilers\n"
	      "* no names, owners or times of files but these; no name of the machine\n",
	      out);
}

void jp_repro_readme(FILE *out, const struct jp_repro *repro)
{
	size_t first = strcspn(repro->result.reasons, "\n");
	char *reason = strndup(repro->result.reasons, first);

	fprintf(out, "# %s: %s\n\n## Summary\n\n", repro->cas->name,
		jp_outcome_text(repro->result.outcome));
	fprintf(out,
		"The case `%s` of jitproof, which proves whether a kernel and a profiler see "
		"JIT-compiled\ncode as it is, ends with %s",
		repro->cas->name, jp_outcome_text(repro->result.outcome));
	put_item(out, first && reason ? ": " : ".", first && reason ? reason : "");
	free(reason);
	put_versions(out, repro);
	put_expected(out, repro);
	fputs("\n## Seen\n\n", out);
	put_lines(out, repro->ktap);
	put_steps(out, repro);
	put_machine_facts(out, repro);
}

void jp_repro_script(FILE *out, const struct jp_repro *repro)
{
	fputs("#!/bin/sh\n"
	      "# SPDX-License-Identifier: GPL-2.0-only\n"
	      "# ./reproduce            judges the recorded run again\n"
	      "# ./reproduce --run DIR  runs the case here, into the new folder DIR, and judges "
	      "that\n"
	      "set -u\n"
	      "here=$PWD\n"
	      "case $0 in */*) CDPATH='' cd -- \"${0%/*}\" || exit 99 ;; esac\n"
	      "JITPROOF_PROFILERS=$PWD/profiler\n"
	      "export JITPROOF_PROFILERS\n"
	      "case $#,${1-} in\n"
	      "0,) exec ./jitproof judge --expected ./expected ./case ;;\n"
	      "2,--run)\n"
	      "\tcase $2 in /*) dir=$2 ;; *) dir=$here/$2 ;; esac\n",
	      out);
	fprintf(out, "\texec ./jitproof run --expected ./expected -o \"$dir\" '%s'\n",
		repro->cas->name);
	fputs("\t;;\n"
	      "*)\n"
	      "\techo 'usage: ./reproduce [--run DIR]' >&2\n"
	      "\texit 2\n"
	      "\t;;\n"
	      "esac\n",
	      out);
}

void jp_repro_definition(FILE *out, const struct jp_case *cas)
{
	const char *tail = cas->text + strlen("case ") + strlen(cas->name);

	fprintf(out, "# SPDX-License-Identifier: GPL-2.0-only\ncase %s%s",
		cas->name + strlen(cas->study) + 1, tail);
}
