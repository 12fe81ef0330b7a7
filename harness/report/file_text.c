// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/file_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/printable.h"
#include "harness/format/elf/elf_file.h"
#include "harness/report/file_missing.h"

/* Replaces control characters, which a terminal would obey: a process chooses its own name. */
static const char *make_printable(const char *name, char *capacity, size_t size)
{
	snprintf(capacity, size, "%s", name);
	for (char *pos = capacity; (pos = strchr(pos, '\n'));)
		*pos = '?';
	return jp_printable(capacity);
}

static void print_share(const char *label, uint64_t count, uint64_t total, const char *of_what)
{
	printf("  %-44s %12" PRIu64, label, count);
	if (total)
		printf("  %6.2f %% of %" PRIu64 " %s", 100.0 * count / total, total, of_what);
	putchar('\n');
}

/* Prints @value in a column of @width, like printf() but faster: a report on a million processes
 * has many numbers. */
static void print_column(int width, uint64_t value)
{
	char text[24];
	size_t first = sizeof(text);

	do
		text[--first] = (char)('0' + value % 10);
	while (value /= 10);
	while (sizeof(text) - first < (size_t)width)
		text[--first] = ' ';
	text[--first] = ' ';
	fwrite_unlocked(text + first, 1, sizeof(text) - first, stdout);
}

static void print_row(const struct jp_figures *figures)
{
	print_column(10, figures->samples);
	print_column(10, figures->user_stacks);
	print_column(10, figures->single_frame);
	print_column(10, figures->rootless);
	print_column(12, figures->addresses);
	print_column(10, figures->addresses_unmapped);
	putchar('\n');
}

static void print_processes(struct jp_file_report *report)
{
	const struct jp_process_figures *const *processes;
	char capacity[20];
	size_t count;

	processes = jp_file_figures_processes(report->figures, &count);
	printf("\n%10s %-16s %10s %10s %10s %10s %12s %10s\n", "pid", "process", "samples",
	       "stacks", "single", "rootless", "addresses", "unmapped");
	for (size_t i = 0; i < count; i++) {
		printf("%10d %-16s", (int)processes[i]->pid,
		       make_printable(jp_replay_comm(report->replay, processes[i]->pid), capacity,
				      sizeof(capacity)));
		print_row(&processes[i]->figures);
	}
	printf("%10s %-16s", "", "all");
	print_row(&report->total);
}

static void print_places(struct jp_file_report *report)
{
	const struct jp_process_figures *const *processes;
	size_t count;

	processes = jp_file_figures_processes(report->figures, &count);
	printf("\nwhere sampled addresses lie, and mapping records by kind\n%10s", "pid");
	for (int place = 0; place < JP_PLACES; place++)
		printf(" %10s", jp_place_text[place]);
	printf(" |");
	for (int place = 0; place < JP_MAP_PLACES; place++)
		printf(" %7s", jp_place_text[place]);
	putchar('\n');
	for (size_t i = 0; i <= count; i++) {
		const struct jp_figures *figures =
			i < count ? &processes[i]->figures : &report->total;

		if (i < count)
			printf("%10d", (int)processes[i]->pid);
		else
			printf("%10s", "all");
		for (int place = 0; place < JP_PLACES; place++)
			print_column(10, figures->nr_samples[place]);
		fputs(" |", stdout);
		for (int place = 0; place < JP_MAP_PLACES; place++)
			print_column(7, figures->mmap2[place]);
		putchar('\n');
	}
}

static void print_names(const struct jp_file_report *report)
{
	static const char *const texts[JP_NAME_SOURCES] = {
		[JP_NAME_ELF] = "  by symbols of a file",
		[JP_NAME_JITDUMP] = "  by an injected jitdump",
		[JP_NAME_MAP] = "  by a perf map",
		[JP_NAME_NO_MAPPING] = "  unnamed: in no known mapping",
		[JP_NAME_NOT_ANONYMOUS] = "  unnamed: perf reads no perf map there",
		[JP_NAME_NO_MAP] = "  unnamed: there is no perf map",
		[JP_NAME_BAD_MAP] = "  unnamed: the perf map is not readable",
		[JP_NAME_NOT_IN_MAP] = "  unnamed: not in the perf map",
		[JP_NAME_OVERLAPPED] = "  unnamed: lines of the perf map overlap",
		[JP_NAME_NO_ELF] = "  unnamed: the file is no ELF file",
		[JP_NAME_NO_FILE] = "  unnamed: the file is missing",
		[JP_NAME_OTHER_FILE] = "  unnamed: the file has another build id",
		[JP_NAME_BAD_FILE] = "  unnamed: the file is not readable",
		[JP_NAME_STRIPPED] = "  unnamed: the file is stripped",
		[JP_NAME_NO_SYMBOL] = "  unnamed: the file has no symbol there",
	};
	struct jp_name_counts names;

	jp_file_names_total(report->names, &names);
	print_share("samples in user space that perf 7.3 names",
		    names.nr_named[JP_NAMING_PERFS - 1], names.samples, "samples");
	for (enum jp_name_source source = 0; source < JP_NAME_SOURCES; source++)
		if (names.source[source])
			print_share(texts[source], names.source[source], names.samples, "samples");
	for (size_t i = 0; i + 1 < JP_NAMING_PERFS; i++)
		if (names.nr_named[i] != names.nr_named[JP_NAMING_PERFS - 1])
			printf("  perf %s names %12" PRIu64 "\n", jp_naming_perf_text[i],
			       names.nr_named[i]);
}

static void print_not_unwound(const struct jp_file_report *report)
{
	const char *arch = report->summary.arch;
	char name[sizeof(report->summary.arch)];

	if (report->unwound.other_machine)
		printf("not unwound: %" PRIu64 " dumps of %s; jitproof does not know its stacks\n",
		       report->unwound.other_machine,
		       *arch ? make_printable(arch, name, sizeof(name))
			     : "a machine that the file does not name");
	if (report->unwound.bits_32)
		printf("not unwound: %" PRIu64 " dumps of 32-bit tasks, except x86's\n",
		       report->unwound.bits_32);
	if (report->unwound.no_registers)
		printf("not unwound: %" PRIu64 " dumps without registers (perf record "
		       "--user-regs)\n",
		       report->unwound.no_registers);
}

static void print_missing(const struct jp_file_report *report)
{
	size_t count;
	const struct jp_elf_entry **missing = jp_file_list_missing(report, &count);
	char text[4096], id[41];

	if (count)
		printf("stacks end at missing files: name folders with --elf or --root\n");
	for (size_t i = 0; i < count; i++) {
		printf("  %10" PRIu64 " stacks  build id %-40s  %s", missing[i]->stops,
		       missing[i]->id->size ? jp_build_id_text(missing[i]->id, id) : "unknown",
		       make_printable(missing[i]->path, text, sizeof(text)));
		printf(" (%s)\n", make_printable(missing[i]->reason, text, sizeof(text)));
	}
	free(missing);
}

static void print_unwound(const struct jp_file_report *report)
{
	uint64_t samples = report->unwound.samples;

	printf("\nunwinding %" PRIu64 " stack dumps: %.2f frames each; reasons why walks end:\n",
	       samples, samples ? (double)report->unwound.frames / samples : 0);
	for (int stop = 0; stop < JP_UNWIND_STOPS; stop++)
		if (report->unwound.stops[stop])
			print_share(jp_unwind_stop_text(stop), report->unwound.stops[stop], samples,
				    "stacks");
	print_not_unwound(report);
	print_missing(report);
}

void jp_file_report_text(struct jp_file_report *report)
{
	char file[4096];
	const struct jp_figures *total = &report->total;
	const struct jp_perfdata_summary *summary = &report->summary;

	printf("%s: %" PRIu64 " records, %" PRIu64 " of unknown types, %u event%s%s%s%s\n",
	       make_printable(report->file, file, sizeof(file)), summary->records,
	       summary->unknown_records, summary->attrs, summary->attrs == 1 ? "" : "s",
	       summary->compressed ? ", compressed" : "", summary->pipe ? ", from a pipe" : "",
	       summary->swapped ? ", of the other byte order" : "");
	if (summary->overwritten)
		printf("  %u features of its header cannot be read: the attrs overwrite them\n",
		       summary->overwritten);
	print_share("samples", total->samples, 0, "");
	print_share("with a user stack in the callchain", total->user_stacks, total->samples,
		    "samples");
	print_share("  of a single frame", total->single_frame, total->user_stacks, "stacks");
	print_share("  whose outermost frame is no known root", total->rootless, total->user_stacks,
		    "stacks");
	print_share("user addresses in callchains", total->addresses, 0, "");
	print_share("  in no known mapping", total->addresses_unmapped, total->addresses,
		    "addresses");
	print_names(report);
	print_share("LOST records", summary->lost_records, 0, "");
	print_share("  events that they count as lost", summary->lost_events, 0, "");
	print_share("lost samples (LOST_SAMPLES)", summary->lost_samples, 0, "");
	if (report->unwinds)
		print_unwound(report);
	print_processes(report);
	print_places(report);
}
