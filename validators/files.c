// SPDX-License-Identifier: GPL-2.0-only
#include "validators/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/judge/unmapped.h"
#include "validators/sample_class.h"

struct jp_files {
	struct jp_view *view;
	const struct jp_evidence *evidence;
	struct jp_findings by_samples;      /* stand behind those of the mappings */
	const struct jp_truth_file **files; /* by pid, from */
	const struct jp_truth_file **paths; /* the same by pid, path, until */
	size_t count;
	struct jp_boxes boxes; /* of @files */
	uint64_t judged, missing, late, late_ns, identity, samples, credited;
};

/* What the kernel adds to the name of a file that has none any more. */
#define DELETED " (deleted)"

static int by_pid(const void *left, const void *right)
{
	const struct jp_truth_file *a = *(const struct jp_truth_file *const *)left;
	const struct jp_truth_file *b = *(const struct jp_truth_file *const *)right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

static int by_path(const void *left, const void *right)
{
	const struct jp_truth_file *a = *(const struct jp_truth_file *const *)left;
	const struct jp_truth_file *b = *(const struct jp_truth_file *const *)right;

	return jp_compare(a->pid, b->pid) ?: strcmp(a->path, b->path)
		       ?: jp_compare(a->until, b->until);
}

static int collect(struct jp_files *files)
{
	const struct jp_truth *truth = files->evidence->truth;
	int failed = 0;

	files->files = calloc(truth->nr_files + 1, sizeof(*files->files));
	files->paths = calloc(truth->nr_files + 1, sizeof(*files->paths));
	if (!files->files || !files->paths)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_files; i++)
		files->files[i] = files->paths[i] = &truth->files[i];
	files->count = truth->nr_files;
	qsort(files->files, files->count, sizeof(*files->files), by_pid);
	qsort(files->paths, files->count, sizeof(*files->paths), by_path);
	for (size_t i = 0; !failed && i < files->count; i++) {
		const struct jp_truth_file *file = files->files[i];
		const struct jp_box box = {file->addr, file->addr + file->len, file->from,
					   file->until};

		failed = jp_boxes_add(&files->boxes, file->pid, &box, i);
	}
	jp_boxes_build(&files->boxes);
	return failed;
}

/* Whether @known gives another file than @file, and by what; NULL: the same, as far as it tells. */
static const char *differs(const struct jp_truth_file *file, const struct jp_mapping *known)
{
	size_t length = strlen(file->path);
	const char *id = file->build_id, *end = strchr(id, ' ');

	/* What lies in /dev/shm is a file as well: programs run from there. */
	if (known->backing != JP_BACKING_FILE && known->backing != JP_BACKING_SHM)
		return "no-file";
	if (known->build_id_size && *id != '-') {
		char byte[3];

		if ((size_t)(end - id) != 2 * (size_t)known->build_id_size)
			return "other-build-id";
		for (size_t i = 0; i < known->build_id_size; i++) {
			snprintf(byte, sizeof(byte), "%02x", known->build_id[i]);
			if (memcmp(byte, id + 2 * i, 2) != 0)
				return "other-build-id";
		}
	}
	/* A record with a build id has no inode: they lie in the same place (5.12). */
	if (known->ino && known->ino != file->ino)
		return "other-inode";
	if (known->ino && (known->maj != file->maj || known->min != file->min))
		return "other-device";
	if (strncmp(known->name, file->path, length) != 0 ||
	    (known->name[length] && strcmp(known->name + length, DELETED) != 0))
		return "other-name";
	return NULL;
}

/* How @path compares with the first @length bytes of @name. */
static int compare_path(const char *path, const char *name, size_t length)
{
	return strncmp(path, name, length) ?: path[length] != '\0';
}

/* Whether @known is a file of @pid that was gone by @time, and that the truth calls by the first
 * @length bytes of its name. */
static bool was_earlier(const struct jp_files *files, uint32_t pid, const struct jp_mapping *known,
			size_t length, uint64_t time)
{
	const struct jp_truth_file *const *paths = files->paths;
	size_t i;

	jp_search(i, files->count,
		  (jp_compare(paths[i]->pid, pid)
			   ?: compare_path(paths[i]->path, known->name, length)) < 0);
	for (; i < files->count && paths[i]->pid == pid && paths[i]->until <= time &&
	       !compare_path(paths[i]->path, known->name, length);
	     i++)
		if (!differs(paths[i], known))
			return true;
	return false;
}

/* Another file that is there: whose is it? */
static const char *blame(const struct jp_files *files, const struct jp_truth_file *file,
			 const struct jp_mapping *known, const char *difference)
{
	const size_t length = strlen(known->name), end = strlen(DELETED);

	/* What it was before its last exec: the parent's program, most likely. */
	if (was_earlier(files, file->pid, known, length, file->from) ||
	    (length >= end && !strcmp(known->name + length - end, DELETED) &&
	     was_earlier(files, file->pid, known, length - end, file->from)))
		return "earlier-program";
	return difference;
}

/* How long of [@from, @to) the capture held the right file at @file's place; @wrong: what else. */
static uint64_t known_for(const struct jp_files *files, const struct jp_truth_file *file,
			  uint64_t from, uint64_t to, const struct jp_span **wrong,
			  const char **difference)
{
	const struct jp_box box = {file->addr, file->addr + 1, from, to};
	const struct jp_span *span;
	uint64_t known = 0;

	for (size_t at = 0; (span = jp_spans_next(files->view->known, file->pid, &box, &at));) {
		const char *other;

		if (span->open_before >= to || span->close_before <= from)
			continue;
		other = differs(file, &span->mapping);
		if (other && *wrong && *wrong > span)
			continue;
		if (other) {
			*wrong = span;
			*difference = other;
		} else {
			known += jp_min(to, span->close_before) - jp_max(from, span->open_before);
		}
	}
	return known;
}

/* Judges @file during [@from, @to). */
static int judge_during(struct jp_files *files, const struct jp_truth_file *file, uint64_t from,
			uint64_t to)
{
	uint64_t known;
	const struct jp_span *wrong = NULL;
	const char *difference = NULL;
	struct jp_unmapped unmapped;
	char what[256];

	files->judged++;
	known = known_for(files, file, from, to, &wrong, &difference);
	if (wrong) {
		files->identity++;
		return jp_findings_except(&files->view->findings, "files.identity",
					  blame(files, file, &wrong->mapping, difference),
					  "pid %u, %" PRIx64 ": inode %" PRIu64
					  " of %x:%x, %s; the capture has "
					  "inode %" PRIu64 " of %x:%x, %s",
					  file->pid, file->addr, file->ino, file->maj, file->min,
					  file->build_id, wrong->mapping.ino, wrong->mapping.maj,
					  wrong->mapping.min, wrong->mapping.name);
	}
	if (known == to - from)
		return 0;
	unmapped = jp_unmapped(files->evidence, files->view->known, file->pid, file->addr, from);
	if (!known) {
		files->missing++;
		return jp_findings_except(&files->view->findings, "files.missing", unmapped.cause,
					  "pid %u, %" PRIx64 " from %" PRIu64 ": %s; %s", file->pid,
					  file->addr, file->from, file->build_id,
					  jp_unmapped_text(&unmapped, what, sizeof(what)));
	}
	files->late++;
	files->late_ns = jp_max(files->late_ns, to - from - known);
	return jp_findings_except(
		&files->view->findings, "files.late", unmapped.cause,
		"pid %u, %" PRIx64 ": %s: not known for %" PRIu64 " ns of %" PRIu64, file->pid,
		file->addr, file->build_id, to - from - known, to - from);
}

static int judge_file(struct jp_files *files, const struct jp_truth_file *file)
{
	const struct jp_evidence *evidence = files->evidence;
	const uint64_t slack = evidence->info.slack;
	const uint64_t end = file->until - (file->until == UINT64_MAX ? 0 : slack);
	uint64_t from, to;
	int failed = 0;

	if (!jp_evidence_gated(evidence)) {
		from = jp_evidence_told_from(evidence, file->pid, file->from, file->from);
		to = jp_min(end, evidence->info.stopped);
		return from < to ? judge_during(files, file, from, to) : 0;
	}
	/* A gate opens on what its own snapshot has told already. */
	for (size_t at = 0; !failed && jp_evidence_window(evidence, file->pid, &at, &from, &to);) {
		from = jp_max(from, file->from + slack);
		to = jp_min(to, end);
		if (from < to)
			failed = judge_during(files, file, from, to);
	}
	return failed;
}

/* The file that @ip of @pid is in, when @time is surely within its life; NULL: none. */
static const struct jp_truth_file *file_at(const struct jp_files *files, uint32_t pid, uint64_t ip,
					   uint64_t time)
{
	const struct jp_box box = {ip, ip + 1, time, time};
	const uint64_t slack = files->evidence->info.slack;
	size_t i;

	for (size_t at = 0; jp_boxes_next(&files->boxes, pid, &box, &at, &i);)
		if (time >= files->files[i]->from + slack && time + slack <= files->files[i]->until)
			return files->files[i];
	return NULL;
}

/* A sample in a file that the truth knows must be credited to that file. */
int jp_files_sample(struct jp_files *files, const struct jp_event *event)
{
	const uint64_t ip = event->sample.ip;
	const struct jp_truth_file *file =
		event->sample.user ? file_at(files, event->pid, ip, event->time) : NULL;
	const struct jp_mapping *known;
	const char *cause;
	char what[256] = "";

	if (!file || jp_sample_bystander(files->evidence, event))
		return 0;
	files->samples++;
	known = jp_replay_find(files->view->spaces, event->pid, ip);
	cause = known ? differs(file, known) : NULL;
	if (known && !cause) {
		files->credited++;
		return 0;
	}
	if (known) {
		cause = blame(files, file, known, cause);
	} else {
		struct jp_unmapped unmapped = jp_unmapped(files->evidence, files->view->known,
							  event->pid, ip, event->time);

		cause = unmapped.cause;
		jp_unmapped_text(&unmapped, what, sizeof(what));
	}
	return jp_findings_except(&files->by_samples, "files.credited", cause,
				  "sample at %" PRIu64 ", %u/%u, ip %" PRIx64
				  " is in %s; the capture says %s",
				  event->time, event->pid, event->tid, ip, file->build_id,
				  known ? known->name : what);
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
	if (!collect(files))
		return files;
	jp_files_free(files);
	return NULL;
}

int jp_files_end(struct jp_files *files, jp_files_seen seen, const void *context)
{
	int failed = 0;

	for (size_t i = 0; !failed && i < files->count; i++)
		if (seen(context, files->files[i]->pid, files->files[i]->from))
			failed = judge_file(files, files->files[i]);
	if (!failed)
		failed = jp_findings_append(&files->view->findings, &files->by_samples);
	if (!failed)
		add_metrics(files);
	return failed;
}

void jp_files_free(struct jp_files *files)
{
	if (!files)
		return;
	jp_findings_free(&files->by_samples);
	jp_boxes_free(&files->boxes);
	free(files->files);
	free(files->paths);
	free(files);
}
