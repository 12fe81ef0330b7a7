// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/file_report.h"

#include <stdlib.h>

#include "harness/base/json.h"
#include "harness/format/elf/elf_file.h"
#include "harness/report/file_missing.h"

static void write_places(struct jp_json *json, const char *key, const uint64_t *counts,
			 size_t count)
{
	jp_json_object(json, key);
	for (size_t i = 0; i < count; i++)
		jp_json_u64(json, jp_place_text[i], counts[i]);
	jp_json_end(json);
}

static void write_figures(struct jp_json *json, const struct jp_figures *figures)
{
	jp_json_u64(json, "samples", figures->samples);
	jp_json_u64(json, "user_stacks", figures->user_stacks);
	jp_json_u64(json, "single_frame", figures->single_frame);
	jp_json_u64(json, "addresses", figures->addresses);
	jp_json_u64(json, "addresses_unmapped", figures->addresses_unmapped);
	jp_json_u64(json, "rootless", figures->rootless);
	write_places(json, "mmap2", figures->mmap2, JP_MAP_PLACES);
	write_places(json, "sampled", figures->nr_samples, JP_PLACES);
}

static uint64_t write_sources(struct jp_json *json, const char *key, const uint64_t *counts,
			      enum jp_name_source first_source, enum jp_name_source end)
{
	uint64_t sum = 0;

	jp_json_object(json, key);
	for (enum jp_name_source source = first_source; source < end; source++) {
		jp_json_u64(json, jp_name_source_text[source], counts[source]);
		sum += counts[source];
	}
	jp_json_end(json);
	return sum;
}

static void write_names(struct jp_json *json, const struct jp_name_counts *counts)
{
	jp_json_object(json, "names");
	jp_json_u64(json, "samples", counts->samples);
	jp_json_u64(json, "named",
		    write_sources(json, "by", counts->source, JP_NAME_ELF, JP_NAME_NAMED));
	jp_json_u64(json, "unnamed",
		    write_sources(json, "why", counts->source, JP_NAME_NAMED, JP_NAME_SOURCES));
	jp_json_object(json, "named_by_perf");
	for (size_t i = 0; i < JP_NAMING_PERFS; i++)
		jp_json_u64(json, jp_naming_perf_text[i], counts->nr_named[i]);
	jp_json_end(json);
	jp_json_end(json);
}

static void write_missing(struct jp_json *json, const struct jp_file_report *report)
{
	size_t count;
	const struct jp_elf_entry **missing = jp_file_list_missing(report, &count);
	char text[41];

	jp_json_array(json, "missing_files");
	for (size_t i = 0; i < count; i++) {
		jp_json_object(json, NULL);
		jp_json_string(json, "path", missing[i]->path);
		jp_json_string(json, "build_id",
			       missing[i]->id->size ? jp_build_id_text(missing[i]->id, text) : "");
		jp_json_u64(json, "stacks", missing[i]->stops);
		jp_json_string(json, "why", missing[i]->reason);
		jp_json_end(json);
	}
	jp_json_end(json);
	free(missing);
}

static void write_unwound(struct jp_json *json, const struct jp_file_report *report)
{
	uint64_t samples = report->unwound.samples, frames = report->unwound.frames;

	jp_json_object(json, "unwind");
	jp_json_u64(json, "samples", samples);
	jp_json_u64(json, "frames", frames);
	jp_json_double(json, "frames_per_sample", samples ? (double)frames / samples : 0);
	jp_json_object(json, "stops");
	for (int stop = 0; stop < JP_UNWIND_STOPS; stop++)
		jp_json_u64(json, jp_unwind_stop_text(stop), report->unwound.stops[stop]);
	jp_json_end(json);
	jp_json_object(json, "not_unwound");
	jp_json_u64(json, "other_machine", report->unwound.other_machine);
	jp_json_u64(json, "bits_32", report->unwound.bits_32);
	jp_json_u64(json, "no_registers", report->unwound.no_registers);
	jp_json_end(json);
	write_missing(json, report);
	jp_json_end(json);
}

void jp_file_report_json(struct jp_file_report *report)
{
	const struct jp_perfdata_summary *summary = &report->summary;
	const struct jp_process_figures *const *processes;
	struct jp_name_counts names;
	struct jp_json json;
	size_t count;

	jp_json_begin(&json, stdout);
	jp_json_object(&json, NULL);
	jp_json_string(&json, "file", report->file);
	write_figures(&json, &report->total);
	jp_file_names_total(report->names, &names);
	write_names(&json, &names);
	jp_json_u64(&json, "lost_records", summary->lost_records);
	jp_json_u64(&json, "lost_events", summary->lost_events);
	jp_json_u64(&json, "lost_samples", summary->lost_samples);
	jp_json_u64(&json, "records", summary->records);
	jp_json_u64(&json, "unknown_records", summary->unknown_records);
	jp_json_u64(&json, "attrs", summary->attrs);
	jp_json_bool(&json, "compressed", summary->compressed);
	jp_json_bool(&json, "pipe", summary->pipe);
	jp_json_bool(&json, "monotonic", summary->monotonic);
	jp_json_bool(&json, "swapped", summary->swapped);
	if (summary->cut_short)
		jp_json_bool(&json, "cut_short", true);
	if (summary->overwritten)
		jp_json_u64(&json, "overwritten_features", summary->overwritten);
	jp_json_string(&json, "machine", summary->arch);
	if (report->unwinds)
		write_unwound(&json, report);
	jp_json_array(&json, "processes");
	processes = jp_file_figures_processes(report->figures, &count);
	for (size_t i = 0; i < count; i++) {
		const struct jp_name_counts *counts;

		jp_json_object(&json, NULL);
		jp_json_u64(&json, "pid", processes[i]->pid);
		jp_json_string(&json, "comm", jp_replay_comm(report->replay, processes[i]->pid));
		write_figures(&json, &processes[i]->figures);
		counts = jp_file_names_get_counts(report->names, processes[i]->pid);
		if (counts)
			write_names(&json, counts);
		jp_json_end(&json);
	}
	jp_json_end(&json);
	jp_json_end(&json);
}
