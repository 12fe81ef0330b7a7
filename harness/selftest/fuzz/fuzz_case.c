// SPDX-License-Identifier: GPL-2.0-only
/* The whole way of `jitproof judge DIR`: each file of a case's folder is changed in its turn. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/outcome/outcome.h"
#include "harness/selftest/fuzz/fuzz.h"

#define FIXTURES "validators/fixtures/"

static const char *const names[] = {"truth",     "perf.data", "injected.data", "maps",
				    "intervals", "watched",   "capture",       NULL};
enum { TRUTH, PERF_DATA, INJECTED, MAPS, INTERVALS, WATCHED, CAPTURE, KINDS };

static const char *const fixtures[] = {"pathless", "gated", "growth", "slack"};
enum { NR_FIXTURES = sizeof(fixtures) / sizeof(*fixtures) };

/* Of each file of each fixture: what it was; and where they are now. */
static struct {
	char dir[128];
	struct jp_cases *cases;
	char *bytes[KINDS];
	size_t sizes[KINDS];
} laid[NR_FIXTURES];

static bool begins(const unsigned char *bytes, size_t size, const char *with)
{
	return size >= strlen(with) && memcmp(bytes, with, strlen(with)) == 0;
}

/* Which file the bytes are of, by how they begin. */
static size_t kind_of(const unsigned char *bytes, size_t size)
{
	static const char *const heads[KINDS] = {
		[TRUTH] = "JPTR", [PERF_DATA] = "PERF", [INJECTED] = "PERF",
		[MAPS] = "#",     [INTERVALS] = "gate", [WATCHED] = "started"};
	size_t kind = 0;

	while (kind < CAPTURE && !begins(bytes, size, heads[kind]))
		kind++;
	return kind;
}

/* How many of the first bytes are the same. */
static size_t alike(size_t fixture, size_t kind, const unsigned char *bytes, size_t size)
{
	size_t most = laid[fixture].sizes[kind] < size ? laid[fixture].sizes[kind] : size, same = 0;

	for (size_t i = 0; i < most && i < 8192; i++)
		same += (unsigned char)laid[fixture].bytes[kind][i] == bytes[i];
	return same;
}

/* Never empty before it is full: ext4 writes to the disk at once what was truncated to nothing. */
static void put(size_t fixture, size_t kind, const void *bytes, size_t size)
{
	char path[PATH_MAX];
	jp_cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", laid[fixture].dir, names[kind]);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size))
		abort();
}

/* As it was, or not there. */
static void restore(size_t fixture, size_t kind)
{
	char path[PATH_MAX];

	if (laid[fixture].bytes[kind]) {
		put(fixture, kind, laid[fixture].bytes[kind], laid[fixture].sizes[kind]);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", laid[fixture].dir, names[kind]);
	unlink(path);
}

static void lay_out(size_t fixture)
{
	char path[PATH_MAX];
	jp_cleanup_free char *elf = NULL, *text = NULL;
	size_t size;

	snprintf(path, sizeof(path), FIXTURES "%s/elf", fixtures[fixture]);
	elf = realpath(path, NULL);
	snprintf(path, sizeof(path), FIXTURES "%s/case", fixtures[fixture]);
	text = jp_file_read(path, 1 << 12, &size, NULL);
	laid[fixture].cases = text ? jp_cases_parse(NULL, "case", NULL, text, size, NULL) : NULL;
	snprintf(laid[fixture].dir, sizeof(laid[fixture].dir), "%s/%s", fuzz_folder(),
		 fixtures[fixture]);
	snprintf(path, sizeof(path), "%s/elf", laid[fixture].dir);
	if (!elf || !laid[fixture].cases || mkdir(laid[fixture].dir, 0700) || symlink(elf, path))
		abort();
	for (size_t kind = 0; kind < KINDS; kind++) {
		snprintf(path, sizeof(path), FIXTURES "%s/%s", fixtures[fixture], names[kind]);
		laid[fixture].bytes[kind] =
			jp_file_read(path, 1 << 17, &laid[fixture].sizes[kind], NULL);
		restore(fixture, kind);
	}
}

/* The fixture and its file that the bytes are most like. */
static void parent_of(const unsigned char *bytes, size_t size, size_t *fixture, size_t *kind)
{
	const size_t first = kind_of(bytes, size);
	size_t most = 0;

	*fixture = 0;
	*kind = first;
	for (size_t i = 0; i < NR_FIXTURES; i++)
		for (size_t k = first; k <= (first == PERF_DATA ? INJECTED : first); k++) {
			size_t same = laid[i].bytes[k] ? alike(i, k, bytes, size) : 0;

			if (same <= most)
				continue;
			most = same;
			*fixture = i;
			*kind = k;
		}
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	static const char *const controls[] = {NULL, "pathless", "snapshot", "window", "gate"};
	static size_t last_fixture, last_kind = KINDS;
	struct jp_result result = {0};
	size_t fixture, kind;
	struct jp_case cas;

	for (size_t i = 0; !laid[NR_FIXTURES - 1].cases && i < NR_FIXTURES; i++)
		lay_out(i);
	parent_of(bytes, size, &fixture, &kind);
	if (last_kind < KINDS)
		restore(last_fixture, last_kind);
	put(fixture, kind, bytes, size);
	last_fixture = fixture;
	last_kind = kind;
	cas = laid[fixture].cases->cases[0];
	/* Each way of adding back what a control left out. */
	cas.control = controls[size % (sizeof(controls) / sizeof(*controls))];
	jp_judge_case(&cas, laid[fixture].dir, &result);
	jp_findings_free(&result.findings);
}

static void seal(unsigned char *bytes, size_t size)
{
	if (kind_of(bytes, size) == TRUTH)
		fuzz_seal(bytes, size);
}

static const char *const seeds[] = {FIXTURES "pathless/truth", FIXTURES "pathless/perf.data",
				    FIXTURES "pathless/maps", FIXTURES "pathless/capture", NULL};
static const char *const more[] = {FIXTURES "gated/truth",
				   FIXTURES "gated/perf.data",
				   FIXTURES "gated/intervals",
				   FIXTURES "gated/capture",
				   FIXTURES "growth/truth",
				   FIXTURES "growth/perf.data",
				   FIXTURES "growth/injected.data",
				   FIXTURES "slack/truth",
				   FIXTURES "slack/perf.data",
				   FIXTURES "slack/watched",
				   NULL};

const struct fuzz_target fuzz_target = {
	.seeds = seeds,
	.more = more,
	.rounds = 500,
	.truncations = 10,
	.mend = seal,
};
