/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/format/rundir/run_dir.h"
#include "harness/selftest/support/check.h"

static char scratch[] = "/tmp/jitproof-test-XXXXXX";

static void scratch_remove(void)
{
	if (jp_run_dir_remove(scratch))
		perror(scratch);
}

/* Returns the scratch folder of the test program, which the first call makes. It is removed at
 * exit: children must call _exit(). */
static char *scratch_folder(void)
{
	static bool is_made;

	if (!is_made && (!mkdtemp(scratch) || atexit(scratch_remove))) {
		perror(scratch);
		exit(99);
	}
	is_made = true;
	return scratch;
}

/* Returns the path of @name in the scratch folder, valid for the next seven calls. */
__attribute__((unused)) static const char *scratch_path(const char *name)
{
	static char paths[8][128];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", scratch_folder(), name);
	return path;
}

/* Returns the path of @name in the scratch folder, valid until the next such call. */
__attribute__((unused)) static const char *scratch_make(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", scratch_folder(), name);
	return path;
}

/* Replaces the content of the file @path by @bytes. */
__attribute__((unused)) static bool scratch_write(const char *path, const void *bytes, size_t size)
{
	jp_cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	return fd >= 0 && !jp_file_write(fd, bytes, size);
}
