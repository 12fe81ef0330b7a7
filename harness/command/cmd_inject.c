// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "harness/command/command.h"
#include "harness/command/reading.h"
#include "harness/inject/inject.h"

static int usage(FILE *out)
{
	fputs("usage: jitproof inject [OPTION...] -i IN -o OUT\n"
	      "\n"
	      "  -i IN              a perf.data file of CLOCK_MONOTONIC (perf record -k mono)\n"
	      "  -o OUT             the perf.data to write; ELF files go into OUT.jit/\n"
	      "  --anon=WHAT        anonymous mapping records that are later than code in them:\n"
	      "                     cut (default): cut the living code out of them;\n"
	      "                     strip: drop each that covers living code;\n"
	      "                     keep: keep them, though they hide it\n"
	      "  --jitdump-dir DIR  find the jit-PID.dump files in DIR, not where they were "
	      "mapped\n"
	      "  --root DIR         find them below DIR, a copied root\n"
	      "Exit status: 0; 1 if every jitdump was refused; 99 if nothing was written.\n",
	      out);
	return out == stdout ? JP_EXIT_OK : JP_EXIT_USAGE;
}

static void said(void *context, const char *line)
{
	fprintf(stderr, "jitproof inject: %s\n", line);
}

static int merge(const struct jp_inject_options *options)
{
	struct jp_inject_summary summary;
	struct jp_error err = {""};
	struct jp_injection *injection = jp_injection_open(options, &err);
	int status = JP_EXIT_BROKEN, ret = -1;

	if (injection && jp_reading_begins("inject", options->input, options->jitdumps,
					   options->root, &status)) {
		jp_injection_close(injection);
		return status;
	}
	if (injection)
		ret = jp_injection_run(injection, &summary, said, NULL, &err);
	jp_injection_close(injection);
	if (ret) {
		fprintf(stderr, "jitproof inject: %s\n", err.text);
		return JP_EXIT_BROKEN;
	}
	printf("%s: %" PRIu64 " jitdumps, %" PRIu64 " loads, %" PRIu64 " moves, %" PRIu64
	       " bad records; anonymous executable records: %" PRIu64 " before, %" PRIu64
	       " after; %" PRIu64 " ELF files of %" PRIu64 " bytes\n",
	       options->output, summary.jitdumps, summary.loads, summary.moves, summary.bad_records,
	       summary.anon_before, summary.anon_after, summary.elf_files, summary.elf_bytes);
	if (!summary.refused || summary.jitdumps)
		return JP_EXIT_OK;
	fprintf(stderr,
		"jitproof inject: each of the %" PRIu64
		" jitdumps was refused: no name was added\n",
		summary.refused);
	return JP_EXIT_BAD;
}

static int inject(int argc, char **argv)
{
	static const struct option longs[] = {
		{"anon", required_argument, NULL, 'a'},
		{"jitdump-dir", required_argument, NULL, 'd'},
		{"root", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct jp_inject_options options = {.anon = JP_ANON_CUT};
	int option;

	while ((option = getopt_long(argc, argv, "i:o:h", longs, NULL)) != -1) {
		switch (option) {
		case 'i':
			options.input = optarg;
			break;
		case 'o':
			options.output = optarg;
			break;
		case 'd':
			options.jitdumps = optarg;
			break;
		case 'r':
			options.root = optarg;
			break;
		case 'a':
			if (jp_anon_find(optarg, &options.anon))
				break;
			fprintf(stderr, "jitproof inject: --anon=%s: expected strip, keep or cut\n",
				optarg);
			return JP_EXIT_USAGE;
		case 'h':
			return usage(stdout);
		default:
			return usage(stderr);
		}
	}
	if (!options.input || !options.output || optind < argc)
		return usage(stderr);
	return merge(&options);
}

static const struct jp_command inject_command = {
	.name = "inject",
	.synopsis = "inject [--anon=strip|keep|cut] -i IN -o OUT",
	.help = "merge jitdumps into a perf.data",
	.run = inject,
};
JP_REGISTER(command, inject_command);
