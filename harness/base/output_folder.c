// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/delegate.h"
#include "harness/base/trusted_path.h"
#include "harness/base/path.h"
#include "harness/base/untrusted_file.h"

static struct {
	char path[PATH_MAX];
	char temporary[NAME_MAX + 1]; /* name of the created but unpublished file; "": none */
	const char *name;             /* last part of the path */
	/* Descriptor of the parent folder, valid even if the path changes. */
	int parent;
	int dir; /* descriptor of the folder; -1: not open yet */
	bool is_created;
} folder = {.parent = -1, .dir = -1};

int jp_output_folder_begin(const char *path, struct jp_error *err)
{
	jp_cleanup_free char *parent = strdup(path);
	jp_cleanup_free char *real_path = NULL;
	char *slash;
	int ret;

	if (!parent)
		return jp_fail(err, ENOMEM, "%s: out of memory", path);
	for (size_t length = strlen(parent); length > 1 && parent[length - 1] == '/';)
		parent[--length] = '\0';
	slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	real_path = realpath(!slash ? "." : *parent ? parent : "/", NULL);
	ret = real_path ? jp_path_build(folder.path, sizeof(folder.path), err, "%s/%s",
					strcmp(real_path, "/") ? real_path : "",
					slash ? slash + 1 : parent)
			: jp_fail(err, errno, "%s: %s", path, strerror(errno));
	*folder.temporary = '\0';
	if (ret)
		return ret;
	folder.name = strrchr(folder.path, '/') + 1;
	if (folder.parent >= 0) /* left from an earlier jp_output_folder_begin() */
		close(folder.parent);
	folder.parent = jp_open_named_folder(path, slash ? (size_t)(slash - parent) + 1 : 0);
	if (folder.parent >= 0)
		return 0;
	return jp_fail(err, -folder.parent, "%s: cannot open its parent folder: %s", path,
		       strerror(-folder.parent));
}

const char *jp_output_folder_path(void)
{
	return folder.path;
}

static int open_folder(struct jp_error *err)
{
	jp_cleanup_close int dir = -1;
	struct stat st;

	if (folder.dir >= 0)
		return 0;
	folder.is_created = mkdirat(folder.parent, folder.name, 0755) == 0;
	if (!folder.is_created && errno != EEXIST)
		return jp_fail(err, errno, "%s: %s", folder.path, strerror(errno));
	dir = openat(folder.parent, folder.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return jp_fail(err, errno, "%s: expected a folder for ELF files: %s", folder.path,
			       strerror(errno));
	if (fstat(dir, &st) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return jp_fail(err, EPERM,
			       "%s: expected a folder that belongs to us and that nobody else may "
			       "write into",
			       folder.path);
	folder.dir = jp_steal_fd(&dir);
	return 0;
}

static int check_name(const char *name, struct jp_error *err)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..")
		       ? 0
		       : jp_fail(err, EINVAL, "%s: expected the name of a file", name);
}

static void forget_temporary(void)
{
	if (*folder.temporary)
		unlinkat(folder.dir, folder.temporary, 0);
	*folder.temporary = '\0';
}

int jp_output_folder_create(const char *name, struct jp_error *err)
{
	int fd, ret;

	if (jp_is_confined())
		return jp_delegate_ask(JP_DELEGATED_CREATE, name, err);
	ret = check_name(name, err) ?: open_folder(err);
	if (ret)
		return ret;
	forget_temporary();
	ret = jp_path_build(folder.temporary, sizeof(folder.temporary), err, ".%s.%d", name,
			    (int)getpid());
	if (ret)
		return ret;
	fd = openat(folder.dir, folder.temporary,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0) {
		fd = jp_fail(err, errno, "%s/%s: %s", folder.path, folder.temporary,
			     strerror(errno));
		*folder.temporary = '\0';
	}
	return fd;
}

int jp_output_folder_publish(const char *name, struct jp_error *err)
{
	int ret = 0;

	if (jp_is_confined())
		return jp_delegate_ask(JP_DELEGATED_PUBLISH, name, err);
	ret = check_name(name, err);
	if (!ret && !*folder.temporary)
		return jp_fail(err, ENOENT, "%s: no file of this name was created before", name);
	if (!ret && linkat(folder.dir, folder.temporary, folder.dir, name, 0))
		ret = jp_fail(err, errno, "%s/%s: %s", folder.path, name, strerror(errno));
	forget_temporary();
	return ret;
}

int jp_output_folder_existing(const char *name, struct jp_error *err)
{
	uint64_t size;

	if (jp_is_confined())
		return jp_delegate_ask(JP_DELEGATED_EXISTING, name, err);
	return check_name(name, err)
		       ?: jp_untrusted_open_at(folder.dir, name, name, -1, &size, err);
}

void jp_output_folder_end(void)
{
	if (folder.dir < 0)
		return;
	forget_temporary();
	close(jp_steal_fd(&folder.dir));
	if (folder.is_created)
		unlinkat(folder.parent, folder.name, AT_REMOVEDIR); /* fails if it has files */
	folder.is_created = false;
}
