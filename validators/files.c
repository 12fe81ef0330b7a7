// SPDX-License-Identifier: GPL-2.0-only
#include "validators/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/base/sort.h"
#include "harness/judge/unmapped.h"
#include "validators/sample_class.h"

struct process_files {
	struct jp_truth_file *list;
	size_t count, capacity;
};

struct jp_files {
	struct jp_view *view;
	const struct jp_evidence *evidence;
	struct jp_findings
		by_samples;    /* findings about samples, appended to those about mappings */
	struct jp_map by_path; /* pid -> struct process_files, filled on demand */
	uint64_t judged, missing, late, late_ns, identity, samples, credited;
};

/* The kernel adds this to the name of a file that was deleted. */
#define DELETED " (deleted)"

/* Sorts files by the time at which they were mapped, inherited files first. */
JP_ORDER(compare_by_from, struct jp_truth_file,
	 jp_compare(a->from, b->from)
		 ?: jp_compare(a->order, b->order)
		 ?: jp_compare(a->addr, b->addr));

JP_ORDER(compare_by_path, struct jp_truth_file,
	 strcmp(a->path, b->path) ?: jp_compare(a->until, b->until));

/* Lists the files that @pid mapped, sorted by @order. Returns 0 or -ENOMEM; free the list in both
 * cases. */
static int list_files(const struct jp_truth *truth, uint32_t pid,
		      int (*order)(const void *, const void *), struct process_files *files)
{
	const struct jp_box box = {0, UINT64_MAX, 0, UINT64_MAX};
	struct jp_truth_files_at cursor = {0};
	struct jp_truth_file file;

	while (jp_truth_next_file(truth, pid, &box, &cursor, &file)) {
		if (jp_array_append(&files->list, &files->count, &files->capacity, file))
			return -ENOMEM;
	}
	jp_sort(files->list, files->count, order);
	return 0;
}

/* Returns the attribute in which @mapping differs from @file, as a cause id, or NULL. */
static const char *find_difference(const struct jp_truth_file *file,
				   const struct jp_mapping *mapping)
{
	size_t length = strlen(file->path);
	const char *id = file->build_id, *end = strchr(id, ' ');

	/* Programs and libraries can run from /dev/shm and from a memfd. */
	if (mapping->backing != JP_BACKING_FILE && mapping->backing != JP_BACKING_SHM &&
	    mapping->backing != JP_BACKING_MEMFD)
		return "no-file";
	if (mapping->build_id_size && *id != '-') {
		char byte[3];

		if ((size_t)(end - id) != 2 * (size_t)mapping->build_id_size)
			return "other-build-id";
		for (size_t i = 0; i < mapping->build_id_size; i++) {
			snprintf(byte, sizeof(byte), "%02x", mapping->build_id[i]);
			if (memcmp(byte, id + 2 * i, 2) != 0)
				return "other-build-id";
		}
	}
	/* A build id replaces the inode in a record (5.12). */
	if (mapping->ino && mapping->ino != file->ino)
		return "other-inode";
	if (mapping->ino && (mapping->maj != file->maj || mapping->min != file->min))
		return "other-device";
	if (strncmp(mapping->name, file->path, length) != 0 ||
	    (mapping->name[length] && strcmp(mapping->name + length, DELETED) != 0))
		return "other-name";
	return NULL;
}

/* Compares @path with the first @length bytes of @name, as strcmp() does. */
static int compare_path(const char *path, const char *name, size_t length)
{
	return strncmp(path, name, length) ?: path[length] != '\0';
}

/* Returns whether @mapping maps one of @files that was no longer mapped at @time. @length: bytes of
 * its name without DELETED. */
static bool is_earlier_mapped_file(const struct process_files *files,
				   const struct jp_mapping *mapping, size_t length, uint64_t time)
{
	const struct jp_truth_file *list = files->list;
	size_t i;

	jp_search(i, files->count, compare_path(list[i].path, mapping->name, length) < 0);
	for (; i < files->count && list[i].until <= time &&
	       !compare_path(list[i].path, mapping->name, length);
	     i++)
		if (!find_difference(&list[i], mapping))
			return true;
	return false;
}

/* Returns the cause why the capture has another file than @file, or NULL if out of memory. */
static const char *find_identity_cause(struct jp_files *files, const struct jp_truth_file *file,
				       const struct jp_mapping *mapping, const char *difference)
{
	const size_t length = strlen(mapping->name), end = strlen(DELETED);
	struct process_files *process_files_found =
		jp_map_at(&files->by_path, file->pid, sizeof(*process_files_found));

	if (!process_files_found ||
	    (!process_files_found->count &&
	     list_files(files->evidence->truth, file->pid, compare_by_path, process_files_found)))
		return NULL;
	/* The program that the process ran before its last exec mapped @mapping. */
	if (is_earlier_mapped_file(process_files_found, mapping, length, file->from) ||
	    (length >= end && !strcmp(mapping->name + length - end, DELETED) &&
	     is_earlier_mapped_file(process_files_found, mapping, length - end, file->from)))
		return "earlier-program";
	return difference;
}

/* Returns for how many ns of [@from_ns, @to_ns) the capture had the right file in place of
 * @file. Stores the last span with a wrong file in *@wrong_span, and the difference. */
static uint64_t measure_known_time(const struct jp_files *files, const struct jp_truth_file *file,
				   uint64_t from_ns, uint64_t to_ns,
				   const struct jp_span **wrong_span, const char **difference)
{
	const struct jp_box box = {file->addr, file->addr + 1, from_ns, to_ns};
	const struct jp_span *span;
	uint64_t known_time = 0;

	for (size_t cursor = 0;
	     (span = jp_spans_next(files->view->recorded, file->pid, &box, &cursor));) {
		const char *wrong_part;

		if (span->open_before >= to_ns || span->close_before <= from_ns)
			continue;
		wrong_part = find_difference(file, &span->mapping);
		if (wrong_part && *wrong_span && *wrong_span > span)
			continue;
		if (wrong_part) {
			*wrong_span = span;
			*difference = wrong_part;
		} else {
			known_time += jp_min(to_ns, span->close_before) -
				      jp_max(from_ns, span->open_before);
		}
	}
	return known_time;
}

static int judge_window(struct jp_files *files, const struct jp_truth_file *file, uint64_t from_ns,
			uint64_t to_ns)
{
	uint64_t known_time;
	const struct jp_span *wrong_span = NULL;
	const char *difference = NULL;
	struct jp_unmapped unmapped;
	const char *cause;
	char text[256];

	files->judged++;
	known_time = measure_known_time(files, file, from_ns, to_ns, &wrong_span, &difference);
	if (wrong_span) {
		files->identity++;
		cause = find_identity_cause(files, file, &wrong_span->mapping, difference);
		if (!cause)
			return -ENOMEM;
		return jp_findings_count_failure(
			&files->view->findings, "files.identity", cause,
			"pid %u, %" PRIx64 ": inode %" PRIu64 " of %x:%x, %s; the capture has "
			"inode %" PRIu64 " of %x:%x, %s",
			file->pid, file->addr, file->ino, file->maj, file->min, file->build_id,
			wrong_span->mapping.ino, wrong_span->mapping.maj, wrong_span->mapping.min,
			wrong_span->mapping.name);
	}
	if (known_time == to_ns - from_ns)
		return 0;
	unmapped =
		jp_unmapped(files->evidence, files->view->recorded, file->pid, file->addr, from_ns);
	if (!known_time) {
		files->missing++;
		return jp_findings_count_failure(&files->view->findings, "files.missing",
						 unmapped.cause,
						 "pid %u, %" PRIx64 " from %" PRIu64 ": %s; %s",
						 file->pid, file->addr, file->from, file->build_id,
						 jp_unmapped_text(&unmapped, text, sizeof(text)));
	}
	files->late++;
	files->late_ns = jp_max(files->late_ns, to_ns - from_ns - known_time);
	return jp_findings_count_failure(
		&files->view->findings, "files.late", unmapped.cause,
		"pid %u, %" PRIx64 ": %s: not known for %" PRIu64 " ns of %" PRIu64, file->pid,
		file->addr, file->build_id, to_ns - from_ns - known_time, to_ns - from_ns);
}

static int judge_file(struct jp_files *files, const struct jp_truth_file *file)
{
	const struct jp_evidence *evidence = files->evidence;
	const uint64_t slack = evidence->info.slack;
	const uint64_t end = file->until - (file->until == UINT64_MAX ? 0 : slack);
	uint64_t from_ns, to_ns;
	int failed = 0;

	for (size_t cursor = 0;
	     !failed && jp_evidence_next_known_window(evidence, file->pid, file->from, file->from,
						      &cursor, &from_ns, &to_ns);) {
		to_ns = jp_min(to_ns, end);
		if (from_ns < to_ns)
			failed = judge_window(files, file, from_ns, to_ns);
	}
	return failed;
}

/* Stores in *@file the file that was surely mapped at @ip in @pid at @time. Returns false if there
 * is no such file. */
static bool find_file(const struct jp_files *files, uint32_t pid, uint64_t ip, uint64_t time,
		      struct jp_truth_file *file)
{
	const struct jp_box box = {ip, ip + 1, time, time};
	const uint64_t slack = files->evidence->info.slack;
	struct jp_truth_files_at cursor = {0};

	while (jp_truth_next_file(files->evidence->truth, pid, &box, &cursor, file))
		if (time >= file->from + slack && time + slack <= file->until)
			return true;
	return false;
}

int jp_files_sample(struct jp_files *files, const struct jp_event *event)
{
	const uint64_t ip = event->sample.ip;
	struct jp_truth_file file;
	const struct jp_mapping *mapping;
	const char *cause;
	char text[256] = "";

	if (!event->sample.user || !find_file(files, event->pid, ip, event->time, &file) ||
	    jp_sample_is_bystander(files->evidence, event))
		return 0;
	files->samples++;
	mapping = jp_replay_find(files->view->spaces, event->pid, ip);
	cause = mapping ? find_difference(&file, mapping) : NULL;
	if (mapping && !cause) {
		files->credited++;
		return 0;
	}
	if (mapping) {
		cause = find_identity_cause(files, &file, mapping, cause);
		if (!cause)
			return -ENOMEM;
	} else {
		struct jp_unmapped unmapped = jp_unmapped(files->evidence, files->view->recorded,
							  event->pid, ip, event->time);

		cause = unmapped.cause;
		jp_unmapped_text(&unmapped, text, sizeof(text));
	}
	return jp_findings_count_failure(&files->by_samples, "files.credited", cause,
					 "sample at %" PRIu64 ", %u/%u, ip %" PRIx64
					 " is in %s; by the capture in %s",
					 event->time, event->pid, event->tid, ip, file.build_id,
					 mapping ? mapping->name : text);
}

static void add_metrics(const struct jp_files *files)
{
	struct jp_findings *findings = &files->view->findings;

	jp_findings_add_count(findings, "files", files->judged);
	jp_findings_add_count(findings, "files.missing", files->missing);
	jp_findings_add_count(findings, "files.late", files->late);
	jp_findings_add_count(findings, "files.late_ns", files->late_ns);
	jp_findings_add_count(findings, "files.identity", files->identity);
	jp_findings_add_rate(findings, "files.credited", files->credited, files->samples);
}

struct jp_files *jp_files_begin(struct jp_view *view)
{
	struct jp_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->view = view;
	files->evidence = view->evidence;
	return files;
}

/* Judges the files of @pid in the order in which they were mapped. */
static int judge_process(struct jp_files *files, uint32_t pid, jp_files_seen is_visible,
			 const void *context)
{
	struct process_files process_files_found = {0};
	int failed = list_files(files->evidence->truth, pid, compare_by_from, &process_files_found);

	for (size_t i = 0; !failed && i < process_files_found.count; i++)
		if (is_visible(context, pid, process_files_found.list[i].from))
			failed = judge_file(files, &process_files_found.list[i]);
	free(process_files_found.list);
	return failed;
}

/* Returns the sorted pids of all files, or NULL if out of memory. */
static uint64_t *list_pids(const struct jp_truth *truth)
{
	const size_t count = truth->nr_files + truth->nr_inherited;
	uint64_t *pids = calloc(count + 1, sizeof(*pids));

	for (size_t i = 0; pids && i < count; i++)
		pids[i] = i < truth->nr_files ? truth->files[i].pid
					      : truth->inherited[i - truth->nr_files].pid;
	if (pids)
		jp_sort(pids, count, jp_compare_by_value);
	return pids;
}

int jp_files_end(struct jp_files *files, jp_files_seen is_visible, const void *context)
{
	const struct jp_truth *truth = files->evidence->truth;
	jp_cleanup_free uint64_t *pids = list_pids(truth);
	int failed = pids ? 0 : -ENOMEM;

	for (size_t i = 0; !failed && i < truth->nr_files + truth->nr_inherited; i++)
		if (!i || pids[i] != pids[i - 1])
			failed = judge_process(files, pids[i], is_visible, context);
	if (!failed)
		failed = jp_findings_append(&files->view->findings, &files->by_samples);
	if (!failed)
		add_metrics(files);
	return failed;
}

void jp_files_free(struct jp_files *files)
{
	struct process_files *files_of_process;

	if (!files)
		return;
	for (size_t cursor = 0; (files_of_process = jp_map_next(&files->by_path, &cursor, NULL));)
		free(files_of_process->list);
	jp_map_free(&files->by_path);
	jp_findings_free(&files->by_samples);
	free(files);
}
