// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/capture/capture_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/observations/read.h"
#include "harness/format/perfdata/read.h"

/* Returns whether @path is a stream of observations. Does not read from a pipe, since that would
 * consume its bytes; jp_perfdata_read() reports any error. */
static bool is_observations(const char *path)
{
	char magic[sizeof(JP_OBSERVATIONS_MAGIC) - 1];
	jp_cleanup_close int fd = -1;

	if (strcmp(path, "-") == 0)
		return false;
	fd = jp_named_open_regular(path);
	return fd >= 0 && !jp_file_read_at(fd, path, magic, sizeof(magic), 0, NULL) &&
	       memcmp(magic, JP_OBSERVATIONS_MAGIC, sizeof(magic)) == 0;
}

int jp_capture_read(const char *path, jp_event_visit visit, void *context,
		    struct jp_perfdata_summary *summary, struct jp_error *err)
{
	struct jp_declared declared;

	return is_observations(path)
		       ? jp_observations_read(path, visit, context, &declared, summary, err)
		       : jp_perfdata_read(path, visit, context, summary, err);
}

int jp_capture_accept_partial(int ret, const struct jp_perfdata_summary *summary, bool partial,
			      struct jp_error *err)
{
	struct jp_error reason = *err;

	if (ret != -ENODATA || !summary->cut_short)
		return ret;
	return partial ? 0
		       : jp_fail(err, ENODATA,
				 "%s (with --partial, judge reads the part before it)",
				 reason.text);
}

int jp_capture_read_declared(const char *path, struct jp_declared *declared, struct jp_error *err)
{
	*declared = (struct jp_declared){0};
	return is_observations(path) ? jp_observations_read(path, NULL, NULL, declared, NULL, err)
				     : 0;
}

int jp_capture_check(const char *path, struct jp_error *err)
{
	jp_cleanup_close int top = -1, file = -1;
	jp_cleanup_free char *dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	uint64_t size;

	if (!dir)
		return jp_fail(err, ENOMEM, "%s: out of memory", path);
	if (slash) {
		*slash = '\0';
		top = jp_untrusted_open_folder(AT_FDCWD, *dir ? dir : "/");
		file = top < 0 ? top : jp_untrusted_open_folder(top, slash + 1);
	}
	if (file < 0)
		file = jp_untrusted_open(path, -1, &size, err);
	return file < 0 ? file : 0;
}

int jp_capture_path(const char *dir, char *path, size_t size, struct jp_error *err)
{
	int ret = jp_path_build(path, size, err, "%s/observations", dir);

	if (!ret && jp_untrusted_check_exists(path))
		ret = jp_path_build(path, size, err, "%s/perf.data", dir);
	return ret;
}
