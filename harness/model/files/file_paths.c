// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/files/file_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/path.h"
#include "harness/format/elf/elf_file.h"

int jp_file_build_path_in_run(const char *run, enum jp_file_place place, const char *recorded_path,
			      char *path, size_t size)
{
	const char *base = jp_path_base(recorded_path);

	if (*base && place == JP_FILE_CACHE)
		return jp_path_build(path, size, NULL, "%s/jit/%s", run, base);
	if (place == JP_FILE_ITSELF && strncmp(base, "jitted-", 7) == 0)
		return jp_path_build(path, size, NULL, "%s/%s", run, base);
	return -ENOENT;
}

/* Builds in @path the path of the file that the .gnu_debuglink of @wanted_file names. */
static int build_link_path(enum jp_file_place place, const struct jp_wanted_file *wanted_file,
			   char *path, size_t size)
{
	const int folder = (int)(jp_path_base(wanted_file->path) - wanted_file->path);

	if (!wanted_file->link)
		return -ENOENT;
	return jp_path_build(path, size, NULL, "%s%.*s%s%s",
			     place == JP_FILE_LINK_SYSTEM ? "/usr/lib/debug" : "", folder,
			     wanted_file->path, place == JP_FILE_LINK_DEBUG ? ".debug/" : "",
			     wanted_file->link);
}

int jp_file_build_path(enum jp_file_place place, const struct jp_wanted_file *wanted_file,
		       char *path, size_t size)
{
	const bool vdso = strcmp(wanted_file->path, "[vdso]") == 0;
	const char *home = getenv("HOME");
	char id[41];

	if (place <= JP_FILE_CACHE_DEBUG || place == JP_FILE_DEBUG_ID) {
		if (!wanted_file->id.size)
			return -ENOENT;
		jp_build_id_text(&wanted_file->id, id);
	}
	if (place <= JP_FILE_CACHE_DEBUG && !home)
		return -ENOENT;
	if (vdso && place != JP_FILE_CACHE && place != JP_FILE_ITSELF)
		return -ENOENT;
	if (*wanted_file->path != '/' && !vdso)
		return -ENOENT;
	switch (place) {
	case JP_FILE_LINK:
	case JP_FILE_LINK_DEBUG:
	case JP_FILE_LINK_SYSTEM:
		return build_link_path(place, wanted_file, path, size);
	case JP_FILE_CACHE:
		return jp_path_build(path, size, NULL, "%s/.debug/.build-id/%.2s/%s/%s", home, id,
				     id + 2, vdso ? "vdso" : "elf");
	case JP_FILE_CACHE_DEBUG:
		return jp_path_build(path, size, NULL, "%s/.debug/.build-id/%.2s/%s/debug", home,
				     id, id + 2);
	case JP_FILE_DEBUG_SUFFIX:
		return jp_path_build(path, size, NULL, "/usr/lib/debug%s.debug", wanted_file->path);
	case JP_FILE_DEBUG_PATH:
		return jp_path_build(path, size, NULL, "/usr/lib/debug%s", wanted_file->path);
	case JP_FILE_DEBUG_ID:
		return jp_path_build(path, size, NULL, "/usr/lib/debug/.build-id/%.2s/%s.debug", id,
				     id + 2);
	default:
		return jp_path_build(path, size, NULL, "%s", wanted_file->path);
	}
}
