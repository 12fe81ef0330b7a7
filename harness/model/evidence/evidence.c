// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/evidence/evidence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/order.h"
#include "harness/base/path.h"
#include "harness/base/search.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/capture/capture_read.h"
#include "harness/format/truth/format.h"

enum { LIMIT = 64 << 20, PATH_SIZE = 4096 };

/* Builds @path of file @name in folder @dir. Fails for links and FIFOs, which the file's reader
 * would follow or wait for. */
static int check_file(const char *dir, const char *name, char *path, struct jp_error *err)
{
	jp_cleanup_close int fd = -1;
	uint64_t size;

	if (jp_path_build(path, PATH_SIZE, err, "%s/%s", dir, name))
		return -ENAMETOOLONG;
	fd = jp_untrusted_open(path, -1, &size, err);
	return fd < 0 ? fd : 0;
}

static int load_info(struct jp_evidence *evidence, const char *path, struct jp_error *err)
{
	jp_cleanup_free char *text = jp_file_read_regular(path, LIMIT, NULL, err);
	char line[sizeof(evidence->info.lacks) + 16];
	const char *expected = NULL;

	if (!text || jp_capture_info_parse(&evidence->info, path, text, err))
		return -EINVAL;
	snprintf(line, sizeof(line), "declares %s", evidence->info.lacks);
	if (*evidence->info.lacks)
		expected = jp_declared_parse_line(&evidence->declared, line);
	return expected ? jp_fail(err, EINVAL, "%s: lacks: expected %s", path, expected) : 0;
}

static int load_snapshots(struct jp_evidence *evidence, const char *path, struct jp_error *err)
{
	size_t size;
	jp_cleanup_free char *text = jp_file_read_regular(path, LIMIT, &size, err);

	return text ? jp_snapshots_parse(&evidence->snapshots, path, text, size, err) : -EINVAL;
}

/* Only gated captures have intervals. */
static int load_intervals(struct jp_evidence *evidence, const char *path, struct jp_error *err)
{
	jp_cleanup_free char *text = NULL;
	size_t size;

	if (jp_untrusted_check_exists(path) == -ENOENT)
		return 0;
	text = jp_file_read_regular(path, LIMIT, &size, err);
	if (!text)
		return -EINVAL;
	if (strlen(text) != size)
		return jp_fail(err, EINVAL, "%s: offset %zu: a NUL", path, strlen(text));
	return jp_intervals_parse(&evidence->intervals, path, text, err);
}

/* Loads the file `watched`. Every runner since version 3 of the truth writes it, so beside an older
 * truth it was added later. Its times must agree with the file `capture`. */
static int load_watched(struct jp_evidence *evidence, const char *path, struct jp_error *err)
{
	jp_cleanup_free char *text = NULL;

	if (evidence->truth->version < JP_TRUTH_VERSION_CPU)
		return jp_untrusted_check_exists(path) == -ENOENT
			       ? 0
			       : jp_fail(err, EINVAL,
					 "%s: unexpected with a truth of version %u: runners write "
					 "it from version %d on",
					 path, evidence->truth->version, JP_TRUTH_VERSION_CPU);
	text = jp_file_read_regular(path, LIMIT, NULL, err);
	return text ? jp_watched_parse(&evidence->watched, path, text, err) : -EINVAL;
}

static int load_denied_witness(struct jp_evidence *evidence, const char *witness,
			       struct jp_error *err)
{
	jp_cleanup_free char *text = NULL;
	char path[PATH_SIZE];
	int ret = jp_path_build(path, sizeof(path), err, "%s.denied", witness);

	if (ret || jp_untrusted_check_exists(path) == -ENOENT)
		return ret;
	text = jp_file_read_regular(path, sizeof(evidence->witnessed.denied), NULL, err);
	if (!text)
		return -EINVAL;
	snprintf(evidence->witnessed.denied, sizeof(evidence->witnessed.denied), "%s", text);
	return 0;
}

/* Loads the file `witness`. The file `watched` states its number of samples, which reveals a
 * missing or exchanged file. */
static int load_witness(struct jp_evidence *evidence, const char *path, struct jp_error *err)
{
	const uint64_t stated = evidence->watched.witness;
	int ret = evidence->watched.witness_since
			  ? jp_witnessed_load(&evidence->witnessed, path, err)
			  : load_denied_witness(evidence, path, err);

	if (!ret && evidence->witnessed.count != stated)
		ret = jp_fail(err, EINVAL, "%s: %zu samples; `watched` states %" PRIu64, path,
			      evidence->witnessed.count, stated);
	return ret;
}

static int load(struct jp_evidence *evidence, struct jp_error *err)
{
	static const struct {
		const char *name;
		int (*load)(struct jp_evidence *evidence, const char *path, struct jp_error *err);
	} files[] = {
		{"capture", load_info},    {"maps", load_snapshots},  {"intervals", load_intervals},
		{"watched", load_watched}, {"witness", load_witness},
	};
	char path[PATH_SIZE], capture[PATH_SIZE];
	int failed = jp_capture_path(evidence->dir, capture, sizeof(capture), err)
			     ?: check_file(evidence->dir, "truth", path, err)
			     ?: jp_capture_check(capture, err)
			     ?: jp_capture_read_declared(capture, &evidence->declared, err);

	if (!failed && !(evidence->truth = jp_truth_load(path, err)))
		return -EINVAL;
	for (size_t i = 0; !failed && i < sizeof(files) / sizeof(*files); i++)
		failed = jp_path_build(path, sizeof(path), err, "%s/%s", evidence->dir,
				       files[i].name)
				 ?: files[i].load(evidence, path, err);
	return failed;
}

struct jp_evidence *jp_evidence_load(const char *dir, struct jp_error *err)
{
	struct jp_evidence *evidence = calloc(1, sizeof(*evidence));

	if (!evidence || !(evidence->dir = strdup(dir)))
		jp_fail(err, ENOMEM, "%s: out of memory", dir);
	else if (!load(evidence, err))
		return evidence;
	jp_evidence_free(evidence);
	return NULL;
}

void jp_evidence_free(struct jp_evidence *evidence)
{
	if (!evidence)
		return;
	jp_truth_free(evidence->truth);
	jp_snapshots_free(&evidence->snapshots);
	jp_intervals_free(&evidence->intervals);
	jp_witnessed_free(&evidence->witnessed);
	free(evidence->dir);
	free(evidence);
}

const struct jp_snapshot *
jp_evidence_find_snapshot_at_announcement(const struct jp_evidence *evidence,
					  const struct jp_announced *process)
{
	for (size_t i = 0; i < evidence->snapshots.count; i++)
		if (evidence->snapshots.list[i].pid == process->pid &&
		    evidence->snapshots.list[i].before >= process->announcement_time)
			return &evidence->snapshots.list[i];
	return NULL;
}

bool jp_evidence_next_window(const struct jp_evidence *evidence, uint32_t pid, size_t *cursor,
			     uint64_t *window_start, uint64_t *window_end)
{
	const struct jp_intervals *intervals = &evidence->intervals;

	if (!jp_evidence_is_gated(evidence)) {
		*window_start = evidence->info.sampling;
		*window_end = evidence->info.stopped;
		return !(*cursor)++;
	}
	while (*cursor < intervals->nr_intervals) {
		const struct jp_interval *interval = &intervals->intervals[(*cursor)++];

		*window_start = interval->enabled;
		*window_end = interval->disabling;
		if (interval->pid == pid)
			return true;
	}
	return false;
}

uint64_t jp_evidence_get_time_known_from(const struct jp_evidence *evidence, uint32_t pid,
					 uint64_t before, uint64_t after)
{
	uint64_t from = after + evidence->info.slack;

	from = jp_max(from, evidence->info.enabled);
	for (size_t i = 0; before <= evidence->info.enabled && i < evidence->snapshots.count; i++)
		if (evidence->snapshots.list[i].pid == pid &&
		    evidence->snapshots.list[i].after > from)
			from = evidence->snapshots.list[i].after;
	return from;
}

bool jp_evidence_next_known_window(const struct jp_evidence *evidence, uint32_t pid,
				   uint64_t before, uint64_t after, size_t *cursor,
				   uint64_t *window_start, uint64_t *window_end)
{
	if (!jp_evidence_gates_records(evidence)) {
		*window_start = jp_evidence_get_time_known_from(evidence, pid, before, after);
		*window_end = evidence->info.stopped;
		return !(*cursor)++;
	}
	if (!jp_evidence_next_window(evidence, pid, cursor, window_start, window_end))
		return false;
	*window_start = jp_max(*window_start, after + evidence->info.slack);
	return true;
}

uint64_t jp_evidence_get_process_start(const struct jp_evidence *evidence, uint32_t pid,
				       uint64_t time)
{
	const struct jp_truth *truth = evidence->truth;
	const struct jp_truth_incarnation *list = truth->incarnations;
	size_t i;

	jp_search(i, truth->nr_incarnations,
		  list[i].pid < pid || (list[i].pid == pid && list[i].before <= time));
	/* An exec keeps the process: go back to the process's first incarnation. */
	while (i && !list[i - 1].is_first)
		i--;
	return i && list[i - 1].pid == pid ? list[i - 1].before : 0;
}

const struct jp_event *jp_evidence_get_launch(const struct jp_evidence *evidence)
{
	const struct jp_truth *truth = evidence->truth;

	for (size_t i = truth->nr_acts; i-- > 0;)
		if (truth->acts[i].type == JP_EVENT_EXEC &&
		    truth->acts[i].task.start_kind == JP_START_LAUNCH)
			return &truth->acts[i];
	return NULL;
}

bool jp_evidence_is_process_older(const struct jp_evidence *evidence, uint32_t pid, uint64_t time)
{
	const uint64_t start = jp_evidence_get_process_start(evidence, pid, time);

	return start && start < evidence->info.enabled;
}
