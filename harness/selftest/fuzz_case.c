// SPDX-License-Identifier: GPL-2.0-only
/* The whole way of `jitproof judge DIR`: each file of a case's folder is changed in its turn. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/outcome/outcome.h"
#include "harness/selftest/fuzz.h"

#define FIXTURE "validators/fixtures/pathless/"

static const char *const names[] = {"truth", "perf.data", "maps", "capture", NULL};
static const char *const paths[] = {FIXTURE "truth", FIXTURE "perf.data", FIXTURE "maps",
				    FIXTURE "capture", NULL};
static char dir[128];
static struct jp_case the_case;

/* Which file the bytes are of, by how they begin. */
static size_t kind_of(const unsigned char *bytes, size_t size)
{
	if (size >= 4 && memcmp(bytes, "JPTR", 4) == 0)
		return 0;
	if (size >= 4 && memcmp(bytes, "PERF", 4) == 0)
		return 1;
	return size && *bytes == '#' ? 2 : 3;
}

/* Never empty before it is full: ext4 writes to the disk at once what was truncated to nothing. */
static void put(const char *name, const void *bytes, size_t size)
{
	char path[PATH_MAX];
	jp_cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size))
		abort();
}

static void restore(size_t kind)
{
	size_t size;
	jp_cleanup_free char *bytes = jp_file_read(paths[kind], 1 << 17, &size, NULL);

	if (!bytes)
		abort();
	put(names[kind], bytes, size);
}

static void lay_out(void)
{
	static struct jp_cases *cases; /* lives as long as the program */
	char path[PATH_MAX];
	jp_cleanup_free char *elf = realpath(FIXTURE "elf", NULL);
	size_t size;
	jp_cleanup_free char *text = jp_file_read(FIXTURE "case", 1 << 12, &size, NULL);

	snprintf(dir, sizeof(dir), "%s/case", fuzz_folder());
	snprintf(path, sizeof(path), "%s/elf", dir);
	cases = text ? jp_cases_parse(NULL, "case", NULL, text, size, NULL) : NULL;
	if (!elf || !cases || mkdir(dir, 0700) || symlink(elf, path))
		abort();
	the_case = cases->cases[0];
	for (size_t i = 0; names[i]; i++)
		restore(i);
}

void fuzz_one(const char *path, const unsigned char *bytes, size_t size)
{
	static const char *const controls[] = {NULL, "pathless", "snapshot", "window", "gate"};
	static size_t last = 4;
	size_t kind = kind_of(bytes, size);
	struct jp_result result = {0};

	if (!the_case.name)
		lay_out();
	/* Each way of adding back what a control left out. */
	the_case.control = controls[size % (sizeof(controls) / sizeof(*controls))];
	if (last < 4 && last != kind)
		restore(last);
	put(names[kind], bytes, size);
	last = kind;
	jp_judge_case(&the_case, dir, &result);
	jp_findings_free(&result.findings);
}

static void seal(unsigned char *bytes, size_t size)
{
	if (kind_of(bytes, size) == 0)
		fuzz_seal(bytes, size);
}

const struct fuzz_target fuzz_target = {
	.seeds = paths,
	.rounds = 500,
	.truncations = 10,
	.mend = seal,
};
