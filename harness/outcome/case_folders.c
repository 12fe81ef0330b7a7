// SPDX-License-Identifier: GPL-2.0-only
#include "harness/outcome/case_folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/array.h"
#include "harness/base/path.h"
#include "harness/outcome/case_folder.h"

static int add_folder(struct jp_case_folders *folders, const char *path)
{
	char **folder = jp_array_push(&folders->paths, &folders->count, &folders->capacity);

	return folder && (*folder = strdup(path)) ? 0 : -ENOMEM;
}

static int find_folders(struct jp_case_folders *folders, const char *dir, int depth)
{
	struct dirent **names;
	int count, ret = 0;

	if (jp_is_case_folder(dir))
		return add_folder(folders, dir);
	if (depth == 2)
		return 0;
	count = scandir(dir, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char path[4096];
		struct stat status;

		if (!ret && names[i]->d_name[0] != '.' &&
		    !jp_path_build(path, sizeof(path), NULL, "%s/%s", dir, names[i]->d_name) &&
		    lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
			ret = find_folders(folders, path, depth + 1);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return count < 0 ? -errno : ret;
}

int jp_case_folders_find(struct jp_case_folders *folders, const char *dir)
{
	return find_folders(folders, dir, 0);
}

void jp_case_folders_free(struct jp_case_folders *folders)
{
	for (size_t i = 0; i < folders->count; i++)
		free(folders->paths[i]);
	free(folders->paths);
	*folders = (struct jp_case_folders){0};
}
