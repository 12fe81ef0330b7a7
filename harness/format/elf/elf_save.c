// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/elf/elf_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/digest.h"
#include "harness/base/file.h"
#include "harness/base/new_file.h"
#include "harness/base/path.h"

enum { MAX_COPY = 256 << 20 };

char *jp_build_id_text(const struct jp_build_id *id, char *text)
{
	size_t size = id->size <= sizeof(id->bytes) ? id->size : sizeof(id->bytes);

	*text = '\0';
	for (size_t i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", id->bytes[i]);
	return text;
}

const char *jp_elf_index_name(const char *name, uint64_t end)
{
	return strcmp(name, "[vdso]") == 0 && end <= UINT32_MAX ? JP_ELF_COMPAT_VDSO : name;
}

/* Writes the copy under a temporary name, since several captures may save the same file at once. */
static int write_copy(const struct jp_elf_image *image, const char *path, struct jp_error *err)
{
	struct jp_new_file file;
	int fd = jp_new_file_open(&file, path, 0644, err), ret;

	if (fd < 0)
		return fd;
	ret = jp_file_write(fd, image->bytes, image->size);
	if (close(fd) && ret == 0)
		ret = -errno;
	if (ret == 0)
		return jp_new_file_publish(&file, err);
	jp_new_file_discard(&file);
	return jp_fail(err, -ret, "%s: %s", path, strerror(-ret));
}

int jp_elf_save(int fd, const void *image, size_t size, const char *dir, struct jp_build_id *id,
		struct jp_error *err)
{
	char path[4096], text[2 * sizeof(id->bytes) + 1];
	struct jp_elf_image copy;
	struct stat st;
	int ret = jp_elf_build_id(fd, image, size, id, err);

	if (!ret)
		ret = jp_path_build(path, sizeof(path), err, "%s/%s", dir,
				    jp_build_id_text(id, text));
	if (ret)
		return ret;
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	ret = jp_elf_extract(fd, image, size, &copy, err);
	if (ret)
		return ret;
	ret = write_copy(&copy, path, err);
	jp_elf_image_free(&copy);
	return ret;
}

int jp_elf_digest(const char *dir, const char *build_id, uint64_t *digest, struct jp_error *err)
{
	jp_cleanup_free char *bytes = NULL;
	char path[4096];
	size_t size;

	if (jp_path_build(path, sizeof(path), err, "%s/%s", dir, build_id))
		return -ENAMETOOLONG;
	bytes = jp_file_read_regular(path, MAX_COPY, &size, err);
	if (!bytes)
		return -EIO;
	*digest = jp_digest_bytes(0, bytes, size);
	return 0;
}
