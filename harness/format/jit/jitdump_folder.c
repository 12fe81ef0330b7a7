// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/jitdump_folder.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/path.h"
#include "harness/base/untrusted_file.h"

static int visit_dump(struct jp_jitdump_folder *folder, const char *path, int64_t owner,
		      jp_jitdump_visit visit, void *context)
{
	struct jp_jitdump_record record;
	struct jp_error reason = {""};
	struct jp_jitdump *dump = jp_jitdump_open(path, owner, &reason);
	int has_record = dump ? 1 : -EINVAL, failed = 0;

	folder->dumps[folder->count++] = dump;
	if (dump)
		failed = visit(context, jp_jitdump_header(dump), NULL);
	while (!failed && has_record > 0) {
		has_record = jp_jitdump_next(dump, &record, &reason);
		if (has_record > 0)
			failed = visit(context, jp_jitdump_header(dump), &record);
	}
	if (has_record < 0 && !folder->nr_bad++)
		folder->first_error = reason;
	return failed;
}

static bool is_dump(const char *name)
{
	return fnmatch("jit-*.dump", name, 0) == 0;
}

int jp_jitdump_folder_read(const char *dir, struct jp_jitdump_folder *folder,
			   jp_jitdump_visit visit, void *context, struct jp_error *err)
{
	struct jp_folder_names names = {0};
	int failed = jp_untrusted_list(dir, &names, is_dump, err);

	memset(folder, 0, sizeof(*folder));
	if (failed) {
		jp_folder_names_free(&names);
		return failed;
	}
	folder->dumps = calloc(names.count ?: 1, sizeof(struct jp_jitdump *));
	if (!folder->dumps)
		failed = -ENOMEM;
	for (size_t i = 0; i < names.count && !failed; i++) {
		char path[4096];

		failed = jp_path_build(path, sizeof(path), NULL, "%s/%s", dir, names.names[i])
				 ?: visit_dump(folder, path, -1, visit, context);
	}
	jp_folder_names_free(&names);
	return failed ? jp_fail(err, -failed, "%s: jitdumps: %s", dir, strerror(-failed)) : 0;
}

int jp_jitdump_files_read(char *const *paths, size_t count, int64_t owner,
			  struct jp_jitdump_folder *folder, jp_jitdump_visit visit, void *context,
			  struct jp_error *err)
{
	int failed = 0;

	memset(folder, 0, sizeof(*folder));
	folder->dumps = calloc(count ?: 1, sizeof(struct jp_jitdump *));
	if (!folder->dumps)
		return jp_fail(err, ENOMEM, "jitdumps: out of memory");
	for (size_t i = 0; i < count && !failed; i++)
		failed = visit_dump(folder, paths[i], owner, visit, context);
	return failed ? jp_fail(err, -failed, "jitdumps: %s", strerror(-failed)) : 0;
}

void jp_jitdump_folder_free(struct jp_jitdump_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		jp_jitdump_close(folder->dumps[i]);
	free(folder->dumps);
	memset(folder, 0, sizeof(*folder));
}
