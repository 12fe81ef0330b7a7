// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "harness/base/printable.h"
#include "harness/command/command.h"
#include "harness/command/command_line.h"
#include "harness/command/reading.h"
#include "harness/inject/inject.h"

static void print_message(void *context, const char *line)
{
	fprintf(stderr, "jitproof inject: %s\n", line);
}

static int merge_dumps(const struct jp_inject_options *options)
{
	struct jp_inject_summary summary;
	struct jp_error err = {""};
	struct jp_injection *injection = jp_injection_open(options, &err);
	int status = JP_EXIT_BROKEN, ret = -1;

	if (injection &&
	    jp_reading_begin("inject", options->input, options->jitdumps, options->root, &status)) {
		jp_injection_close(injection);
		return status;
	}
	if (injection)
		ret = jp_injection_run(injection, &summary, print_message, NULL, &err);
	jp_injection_close(injection);
	if (ret)
		return jp_command_fail("inject", &err);
	jp_printable_put(stdout, options->output);
	printf(": %" PRIu64 " jitdumps, %" PRIu64 " loads, %" PRIu64 " moves, %" PRIu64
	       " bad records; anonymous executable records: %" PRIu64 " before, %" PRIu64
	       " after; %" PRIu64 " ELF files of %" PRIu64 " bytes\n",
	       summary.jitdumps, summary.loads, summary.moves, summary.bad_records,
	       summary.anon_before, summary.anon_after, summary.elf_files, summary.elf_bytes);
	if (!summary.refused || summary.jitdumps)
		return JP_EXIT_OK;
	fprintf(stderr,
		"jitproof inject: each of the %" PRIu64
		" jitdumps was refused: no name was added\n",
		summary.refused);
	return JP_EXIT_BAD;
}

static int parse_anon(const struct jp_option *option, const char *text, struct jp_error *err)
{
	if (jp_anon_parse(text, option->context))
		return 0;
	return jp_fail(err, EINVAL, "--anon=%s: expected strip, keep or cut", text);
}

static int inject(int argc, char **argv)
{
	struct jp_inject_options options = {.anon = JP_ANON_CUT};
	const struct jp_option rows[] = {
		{"-i", .value = "IN", .text = &options.input, .is_required = true,
		 .help = "a perf.data file of CLOCK_MONOTONIC (perf record -k mono)"},
		{"-o", .value = "OUT", .text = &options.output, .is_required = true,
		 .help = "the perf.data to write; ELF files go into OUT.jit/"},
		{"--anon", .value = "WHAT", .parse = parse_anon, .context = &options.anon,
		 .help = "what to do with anonymous mapping records that are later than code in "
			 "them: cut (default): cut the existing code out of them; strip: drop each "
			 "that covers existing code; keep: keep them, though they hide the code"},
		{"--jitdump-dir", .value = "DIR", .text = &options.jitdumps,
		 .help = "look for the jit-PID.dump files in DIR, not where they were mapped"},
		{"--root", .value = "DIR", .text = &options.root,
		 .help = "look for the jitdumps below DIR, a copied root"},
		{.help = "Exit status: 0; 1 inject refused every jitdump; 99 inject wrote "
			 "nothing."},
		{0}};
	int status;

	return jp_command_line(rows, argc, argv, &status) ? merge_dumps(&options) : status;
}

JP_DEFINE(command, inject_command) = {
	.name = "inject",
	.synopsis = "inject [OPTION...] -i IN -o OUT",
	.help = "merge jitdumps into a perf.data",
	.run = inject,
};
