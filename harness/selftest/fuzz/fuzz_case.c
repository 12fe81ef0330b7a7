// SPDX-License-Identifier: GPL-2.0-only
/* Fuzzes `jitproof judge DIR`: changes one file of a case's folder at a time. */
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

/* The copy of each fixture, and the original content of its files. */
static struct {
	char dir[128];
	struct jp_cases *cases;
	char *bytes[KINDS];
	size_t sizes[KINDS];
} copies[NR_FIXTURES];

static bool has_prefix(const unsigned char *bytes, size_t size, const char *prefix)
{
	return size >= strlen(prefix) && memcmp(bytes, prefix, strlen(prefix)) == 0;
}

/* Returns the kind of file by its first bytes. */
static size_t find_kind(const unsigned char *bytes, size_t size)
{
	static const char *const heads[KINDS] = {
		[TRUTH] = "JPTR", [PERF_DATA] = "PERF", [INJECTED] = "PERF",
		[MAPS] = "#",     [INTERVALS] = "gate", [WATCHED] = "started"};
	size_t kind = 0;

	while (kind < CAPTURE && !has_prefix(bytes, size, heads[kind]))
		kind++;
	return kind;
}

/* Returns how many of the first 8192 bytes are equal. */
static size_t count_equal_bytes(size_t fixture, size_t kind, const unsigned char *bytes,
				size_t size)
{
	size_t max = copies[fixture].sizes[kind] < size ? copies[fixture].sizes[kind] : size,
	       nr_same = 0;

	for (size_t i = 0; i < max && i < 8192; i++)
		nr_same += (unsigned char)copies[fixture].bytes[kind][i] == bytes[i];
	return nr_same;
}

/* Overwrites the file and truncates it last: ext4 flushes files that were truncated to 0. */
static void write_file(size_t fixture, size_t kind, const void *bytes, size_t size)
{
	char path[PATH_MAX];
	jp_cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", copies[fixture].dir, names[kind]);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size))
		abort();
}

/* Restores the original content of a file, or its absence. */
static void restore_file(size_t fixture, size_t kind)
{
	char path[PATH_MAX];

	if (copies[fixture].bytes[kind]) {
		write_file(fixture, kind, copies[fixture].bytes[kind], copies[fixture].sizes[kind]);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", copies[fixture].dir, names[kind]);
	unlink(path);
}

static void copy_fixture(size_t fixture)
{
	char path[PATH_MAX];
	jp_cleanup_free char *elf = NULL, *text = NULL;
	size_t size;

	snprintf(path, sizeof(path), FIXTURES "%s/elf", fixtures[fixture]);
	elf = realpath(path, NULL);
	snprintf(path, sizeof(path), FIXTURES "%s/case", fixtures[fixture]);
	text = jp_file_read(path, 1 << 12, &size, NULL);
	copies[fixture].cases = text ? jp_cases_parse(NULL, "case", NULL, text, size, NULL) : NULL;
	snprintf(copies[fixture].dir, sizeof(copies[fixture].dir), "%s/%s", fuzz_folder(),
		 fixtures[fixture]);
	snprintf(path, sizeof(path), "%s/elf", copies[fixture].dir);
	if (!elf || !copies[fixture].cases || mkdir(copies[fixture].dir, 0700) ||
	    symlink(elf, path))
		abort();
	for (size_t kind = 0; kind < KINDS; kind++) {
		snprintf(path, sizeof(path), FIXTURES "%s/%s", fixtures[fixture], names[kind]);
		copies[fixture].bytes[kind] =
			jp_file_read(path, 1 << 17, &copies[fixture].sizes[kind], NULL);
		restore_file(fixture, kind);
	}
}

/* Finds the fixture and file that the changed bytes come from. */
static void find_original(const unsigned char *bytes, size_t size, size_t *fixture, size_t *kind)
{
	const size_t first = find_kind(bytes, size);
	size_t max = 0;

	*fixture = 0;
	*kind = first;
	for (size_t i = 0; i < NR_FIXTURES; i++)
		for (size_t k = first; k <= (first == PERF_DATA ? INJECTED : first); k++) {
			size_t nr_same =
				copies[i].bytes[k] ? count_equal_bytes(i, k, bytes, size) : 0;

			if (nr_same <= max)
				continue;
			max = nr_same;
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

	for (size_t i = 0; !copies[NR_FIXTURES - 1].cases && i < NR_FIXTURES; i++)
		copy_fixture(i);
	find_original(bytes, size, &fixture, &kind);
	if (last_kind < KINDS)
		restore_file(last_fixture, last_kind);
	write_file(fixture, kind, bytes, size);
	last_fixture = fixture;
	last_kind = kind;
	cas = copies[fixture].cases->cases[0];
	/* Try how each control adds back what its capture left out. */
	cas.control = controls[size % (sizeof(controls) / sizeof(*controls))];
	jp_judge_case(&cas, copies[fixture].dir, &result);
	jp_findings_free(&result.findings);
}

static void seal(unsigned char *bytes, size_t size)
{
	if (find_kind(bytes, size) == TRUTH)
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
	.more_seeds = more,
	.rounds = 250,
	.truncations = 10,
	.mend = seal,
};
