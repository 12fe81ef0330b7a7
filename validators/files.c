// SPDX-License-Identifier: GPL-2.0-only
#include "validators/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/evidence_gate.h"
#include "harness/model/space/replay.h"
#include "harness/judge/spans.h"

struct files {
	const struct jp_evidence *evidence;
	struct jp_findings *findings;
	const struct jp_truth_file **files; /* by pid, from */
	size_t count;
	struct jp_spans known; /* by pid */
	struct jp_replay *replay;
	uint64_t judged, missing, late, late_ns, identity, samples, credited;
};

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int by_pid(const void *left, const void *right)
{
	const struct jp_truth_file *a = *(const struct jp_truth_file *const *)left;
	const struct jp_truth_file *b = *(const struct jp_truth_file *const *)right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

static int collect(struct files *files)
{
	const struct jp_truth *truth = files->evidence->truth;

	files->files = calloc(truth->nr_files + 1, sizeof(*files->files));
	if (!files->files)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_files; i++)
		files->files[i] = &truth->files[i];
	files->count = truth->nr_files;
	qsort(files->files, files->count, sizeof(*files->files), by_pid);
	return 0;
}

/* The first file of @pid, by index. */
static size_t first_of(const struct files *files, uint32_t pid)
{
	size_t low = 0, high = files->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (files->files[middle]->pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether @known gives another file than @file, and by what; NULL: the same, as far as it tells. */
static const char *differs(const struct jp_truth_file *file, const struct jp_mapping *known)
{
	size_t length = strlen(file->path);
	const char *id = file->build_id, *end = strchr(id, ' ');

	if (known->backing != JP_BACKING_FILE)
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
	    (known->name[length] && strcmp(known->name + length, " (deleted)") != 0))
		return "other-name";
	return NULL;
}

/* Another file that is there: whose is it? */
static const char *blame(const struct files *files, const struct jp_truth_file *file,
			 const struct jp_mapping *known, const char *difference)
{
	for (size_t i = first_of(files, file->pid);
	     i < files->count && files->files[i]->pid == file->pid; i++) {
		const struct jp_truth_file *other = files->files[i];

		/* What it was before its last exec: the parent's program, most likely. */
		if (other->until <= file->from && !differs(other, known))
			return "earlier-program";
	}
	return difference;
}

/* What comes to be while the events are on is told at once; what is older, the snapshot tells. */
static uint64_t counted_from(const struct jp_evidence *evidence, const struct jp_truth_file *file)
{
	uint64_t from = max(file->from + evidence->info.slack, evidence->info.enabled);

	for (size_t i = 0; file->from <= evidence->info.enabled && i < evidence->nr_snapshots; i++)
		if (evidence->snapshots[i].pid == file->pid)
			from = max(from, evidence->snapshots[i].after);
	return from;
}

/* How long of [@from, @to) the capture held the right file at @file's place; @wrong: what else. */
static uint64_t known_for(const struct files *files, const struct jp_truth_file *file,
			  uint64_t from, uint64_t to, const struct jp_span **wrong,
			  const char **difference)
{
	uint64_t known = 0;
	size_t low = 0, high = files->known.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (files->known.spans[middle].pid < file->pid)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < files->known.count && files->known.spans[i].pid == file->pid;
	     i++) {
		const struct jp_span *span = &files->known.spans[i];
		const char *other;

		if (file->addr < span->mapping.start || file->addr >= span->mapping.end ||
		    span->open_before >= to || span->close_before <= from)
			continue;
		other = differs(file, &span->mapping);
		if (other) {
			*wrong = span;
			*difference = other;
		} else {
			known += min(to, span->close_before) - max(from, span->open_before);
		}
	}
	return known;
}

/* Judges @file during [@from, @to). */
static int judge_during(struct files *files, const struct jp_truth_file *file, uint64_t from,
			uint64_t to)
{
	uint64_t known;
	const struct jp_span *wrong = NULL;
	const char *difference = NULL, *cause;
	char what[256] = "";

	files->judged++;
	known = known_for(files, file, from, to, &wrong, &difference);
	if (wrong) {
		files->identity++;
		return jp_findings_except(files->findings, "files.identity",
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
	cause = jp_evidence_unmapped(files->evidence, file->pid, file->addr, from, what,
				     sizeof(what));
	if (!known) {
		files->missing++;
		return jp_findings_except(files->findings, "files.missing", cause,
					  "pid %u, %" PRIx64 " from %" PRIu64 ": %s; %s", file->pid,
					  file->addr, file->from, file->build_id, what);
	}
	files->late++;
	files->late_ns = max(files->late_ns, to - from - known);
	return jp_findings_except(
		files->findings, "files.late", cause,
		"pid %u, %" PRIx64 ": %s: not known for %" PRIu64 " ns of %" PRIu64, file->pid,
		file->addr, file->build_id, to - from - known, to - from);
}

static int judge_file(struct files *files, const struct jp_truth_file *file)
{
	const struct jp_evidence *evidence = files->evidence;
	const uint64_t slack = evidence->info.slack;
	const uint64_t end = file->until - (file->until == UINT64_MAX ? 0 : slack);
	uint64_t from, to;
	int failed = 0;

	if (!jp_evidence_gated(evidence)) {
		from = counted_from(evidence, file);
		to = min(end, evidence->info.stopped);
		return from < to ? judge_during(files, file, from, to) : 0;
	}
	/* A gate opens on what its own snapshot has told already. */
	for (size_t at = 0; !failed && jp_evidence_window(evidence, file->pid, &at, &from, &to);) {
		from = max(from, file->from + slack);
		to = min(to, end);
		if (from < to)
			failed = judge_during(files, file, from, to);
	}
	return failed;
}

/* A sample in a file that the truth knows must be credited to that file. */
static int judge_sample(struct files *files, const struct jp_event *event)
{
	uint64_t slack = files->evidence->info.slack, ip = event->sample.ip;
	const struct jp_truth_file *file = NULL;
	const struct jp_mapping *known;
	const char *cause;
	char what[256] = "";

	for (size_t i = first_of(files, event->pid);
	     event->sample.user && i < files->count && files->files[i]->pid == event->pid; i++)
		if (ip - files->files[i]->addr < files->files[i]->len &&
		    event->time >= files->files[i]->from + slack &&
		    event->time + slack <= files->files[i]->until)
			file = files->files[i];
	if (!file)
		return 0;
	files->samples++;
	known = jp_replay_find(files->replay, event->pid, ip);
	cause = known ? differs(file, known) : NULL;
	if (known && !cause) {
		files->credited++;
		return 0;
	}
	cause = known ? blame(files, file, known, cause)
		      : jp_evidence_unmapped(files->evidence, event->pid, ip, event->time, what,
					     sizeof(what));
	return jp_findings_except(files->findings, "files.credited", cause,
				  "sample at %" PRIu64 ", %u/%u, ip %" PRIx64
				  " is in %s; the capture says %s",
				  event->time, event->pid, event->tid, ip, file->build_id,
				  known ? known->name : what);
}

static int visit(void *context, const struct jp_event *event)
{
	struct files *files = context;

	return event->type == JP_EVENT_SAMPLE ? judge_sample(files, event)
					      : jp_replay_apply(files->replay, event);
}

static void add_metrics(const struct files *files)
{
	struct jp_findings *findings = files->findings;

	jp_findings_add(findings, jp_metric_count("files", files->judged));
	jp_findings_add(findings, jp_metric_count("files.missing", files->missing));
	jp_findings_add(findings, jp_metric_count("files.late", files->late));
	jp_findings_add(findings, jp_metric_count("files.late_ns", files->late_ns));
	jp_findings_add(findings, jp_metric_count("files.identity", files->identity));
	jp_findings_add(findings,
			jp_metric_rate("files.credited", files->credited, files->samples));
}

int jp_files_judge(const struct jp_evidence *evidence, enum jp_left_out add_back,
		   jp_files_seen seen, void *context, struct jp_findings *findings,
		   struct jp_error *err)
{
	struct files files = {.evidence = evidence, .findings = findings};
	int failed = collect(&files);

	files.replay = jp_replay_new();
	if (!failed && !files.replay)
		failed = -ENOMEM;
	if (!failed)
		failed = jp_spans_of_capture(evidence, add_back, &files.known, err);
	for (size_t i = 0; !failed && i < files.count; i++)
		if (seen(context, files.files[i]->pid, files.files[i]->from))
			failed = judge_file(&files, files.files[i]);
	if (!failed)
		failed = jp_evidence_walk(evidence, add_back, visit, &files, err);
	if (!failed)
		add_metrics(&files);
	free(files.files);
	jp_spans_free(&files.known);
	jp_replay_free(files.replay);
	return failed;
}
