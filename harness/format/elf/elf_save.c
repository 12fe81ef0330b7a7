// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/path.h"

char *jp_build_id_text(const struct jp_build_id *id, char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t size = id->size <= sizeof(id->bytes) ? id->size : sizeof(id->bytes);

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[id->bytes[i] >> 4];
		text[2 * i + 1] = digits[id->bytes[i] & 15];
	}
	text[2 * size] = 0;
	return text;
}

/* Under a name of its own first: several captures may save the same file at once. */
static int write_copy(const struct jp_elf_image *image, const char *path, const char *dir,
		      struct jp_error *err)
{
	char temporary[4096];
	int fd, ret;

	ret = jp_path_build(temporary, sizeof(temporary), err, "%s/.elf.XXXXXX", dir);
	if (ret)
		return ret;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return jp_fail(err, errno, "%s: %s", temporary, strerror(errno));
	ret = jp_file_write(fd, image->bytes, image->size);
	if (ret == 0 && fchmod(fd, 0644))
		ret = -errno;
	if (close(fd) && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(temporary, path))
		ret = -errno;
	if (ret) {
		unlink(temporary);
		return jp_fail(err, -ret, "%s: %s", path, strerror(-ret));
	}
	return 0;
}

int jp_elf_save(int fd, const void *image, size_t size, const char *dir, struct jp_build_id *id,
		struct jp_error *err)
{
	char path[4096], text[2 * sizeof(id->bytes) + 1];
	struct jp_elf_image copy;
	struct stat st;
	int ret;

	ret = jp_elf_build_id(fd, image, size, id, err);
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
	ret = write_copy(&copy, path, dir, err);
	jp_elf_image_free(&copy);
	return ret;
}
