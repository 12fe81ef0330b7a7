// SPDX-License-Identifier: GPL-2.0-only
/* What a run directory holds is read and checked here; what it says is asked of evidence.c. */
#include "harness/judge/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A whole file of a run directory, NUL-terminated; the caller frees. NULL: @err says why. */
static char *slurp(const char *dir, const char *name, size_t *size, struct jp_error *err)
{
	enum { LIMIT = 64 << 20 };
	char path[4096], *text = NULL;
	struct stat st;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st)) {
		jp_fail(err, errno, "%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size > LIMIT) {
		jp_fail(err, EINVAL, "%s: expected a regular file of at most %d bytes", path,
			LIMIT);
	} else if (!(text = malloc(st.st_size + 1))) {
		jp_fail(err, ENOMEM, "%s: no memory", path);
	} else {
		for (*size = 0; *size < (size_t)st.st_size; *size += got) {
			got = read(fd, text + *size, st.st_size - *size);
			if (got > 0)
				continue;
			/* A part of the evidence is no evidence. */
			jp_fail(err, EIO, "%s: offset %zu: %s", path, *size,
				got ? strerror(errno) : "the file ends before its size");
			free(text);
			text = NULL;
			break;
		}
		if (text)
			text[*size] = 0;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* What is read through its own reader: elsewhere a link or a FIFO may be meant, here it is not. */
static int check_file(const char *dir, const char *name, struct jp_error *err)
{
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (lstat(path, &st))
		return jp_fail(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return jp_fail(err, EINVAL, "%s: expected a regular file", path);
	return 0;
}

static int parse_snapshots(struct jp_evidence *evidence, const char *text, size_t size,
			   struct jp_error *err)
{
	const char *end = text + size;

	while (text < end) {
		struct jp_snapshot *bigger, *snapshot;
		const char *body = memchr(text, '\n', end - text), *next;
		struct jp_error inner;
		int head = 0;

		bigger = realloc(evidence->snapshots,
				 (evidence->nr_snapshots + 1) * sizeof(*bigger));
		if (!bigger)
			return jp_fail(err, ENOMEM, "%s/maps: no memory", evidence->dir);
		evidence->snapshots = bigger;
		snapshot = &bigger[evidence->nr_snapshots];
		memset(snapshot, 0, sizeof(*snapshot));
		if (!body ||
		    sscanf(text, "# pid %" SCNu32 " before %" SCNu64 " after %" SCNu64 "%n",
			   &snapshot->pid, &snapshot->before, &snapshot->after, &head) != 3 ||
		    text + head != body)
			return jp_fail(
				err, EINVAL,
				"%s/maps: expected \"# pid P before NS after NS\" at offset %zu",
				evidence->dir, size - (size_t)(end - text));
		body++;
		for (next = body; next < end && *next != '#'; next++) {
			next = memchr(next, '\n', end - next);
			if (!next)
				next = end - 1;
		}
		if (jp_procmaps_parse(body, next - body, &snapshot->maps, &snapshot->count, &inner))
			return jp_fail(err, EINVAL, "%s/maps, pid %u: %s", evidence->dir,
				       snapshot->pid, inner.text);
		evidence->nr_snapshots++;
		text = next;
	}
	return 0;
}

/* What each event of the capture lost, by the records in its stream. */
struct losses {
	uint64_t lost[8];
	bool sampled[8];
};

static int visit_losses(void *context, const struct jp_event *event)
{
	struct losses *losses = context;

	if (event->attr >= 8)
		return 0;
	if (event->type == JP_EVENT_LOST)
		losses->lost[event->attr] += event->lost.lost;
	else if (event->type == JP_EVENT_SAMPLE)
		losses->sampled[event->attr] = true;
	return 0;
}

/* The facts say what the capture counted; the records may know of more. An event that gave no
 * sample is the sideband's. */
static int count_losses(struct jp_evidence *evidence, struct jp_error *err)
{
	struct losses losses = {{0}, {0}};
	uint64_t sideband = 0, samples = 0;
	int failed = jp_evidence_walk(evidence, JP_LEFT_NOTHING, visit_losses, &losses, err);

	for (size_t i = 0; i < 8; i++)
		*(losses.sampled[i] ? &samples : &sideband) += losses.lost[i];
	if (sideband > evidence->info.lost_sideband)
		evidence->info.lost_sideband = sideband;
	if (samples > evidence->info.lost_samples)
		evidence->info.lost_samples = samples;
	return failed;
}

/* Only gated captures have any. */
static int load_intervals(struct jp_evidence *evidence, struct jp_error *err)
{
	char path[4096], *text;
	size_t size;
	int failed;

	snprintf(path, sizeof(path), "%s/intervals", evidence->dir);
	if (access(path, F_OK) && errno == ENOENT)
		return 0;
	text = slurp(evidence->dir, "intervals", &size, err);
	if (!text)
		return -EINVAL;
	failed = strlen(text) == size
			 ? jp_intervals_parse(&evidence->intervals, path, text, err)
			 : jp_fail(err, EINVAL, "%s: offset %zu: a NUL", path, strlen(text));
	free(text);
	return failed;
}

struct jp_evidence *jp_evidence_load(const char *dir, struct jp_error *err)
{
	struct jp_evidence *evidence = calloc(1, sizeof(*evidence));
	char path[4096], *text;
	size_t size;
	int failed;

	if (!evidence || !(evidence->dir = strdup(dir))) {
		free(evidence);
		jp_fail(err, ENOMEM, "%s: no memory", dir);
		return NULL;
	}
	if (check_file(dir, "truth", err) || check_file(dir, "perf.data", err))
		goto bad;
	snprintf(path, sizeof(path), "%s/truth", dir);
	evidence->truth = jp_truth_load(path, err);
	if (!evidence->truth)
		goto bad;
	text = slurp(dir, "capture", &size, err);
	if (!text)
		goto bad;
	failed = jp_capture_info_parse(&evidence->info, dir, text, err);
	free(text);
	if (failed)
		goto bad;
	text = slurp(dir, "maps", &size, err);
	if (!text)
		goto bad;
	failed = parse_snapshots(evidence, text, size, err);
	free(text);
	if (failed || load_intervals(evidence, err) || count_losses(evidence, err))
		goto bad;
	return evidence;
bad:
	jp_evidence_free(evidence);
	return NULL;
}

void jp_evidence_free(struct jp_evidence *evidence)
{
	if (!evidence)
		return;
	jp_truth_free(evidence->truth);
	for (size_t i = 0; i < evidence->nr_snapshots; i++)
		free(evidence->snapshots[i].maps);
	free(evidence->snapshots);
	jp_intervals_free(&evidence->intervals);
	free((char *)evidence->dir);
	free(evidence);
}
