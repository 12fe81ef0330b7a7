// SPDX-License-Identifier: GPL-2.0-only
#include "harness/repro/tar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/untrusted_file.h"

enum { BLOCK = 512 };

struct tar_head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], owner[32], group[32], major[8], minor[8];
	char prefix[155], padding[12];
};
_Static_assert(sizeof(struct tar_head) == BLOCK, "a block");

/* Returns whether the path is relative without a part "..". */
static bool leads_below(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");

		if (!length || (length <= 2 && strncmp(path, "..", length) == 0))
			return false;
		path += length;
		path += *path == '/';
	}
	return true;
}

/* Splits a member's path at a slash into the header's prefix and name. */
static bool split_path(const char *path, struct tar_head *head)
{
	size_t length = strlen(path);

	if (!length || length > 255 || !leads_below(path))
		return false;
	if (length <= sizeof(head->name)) {
		memcpy(head->name, path, length);
		return true;
	}
	for (size_t slash = length - 1; slash > 0; slash--) {
		if (path[slash] != '/' || slash > sizeof(head->prefix) || slash + 1 == length)
			continue;
		if (length - slash - 1 > sizeof(head->name))
			return false;
		memcpy(head->prefix, path, slash);
		memcpy(head->name, path + slash + 1, length - slash - 1);
		return true;
	}
	return false;
}

static int put_head(struct jp_tar *tar, const char *name, char type, bool runs, uint64_t size,
		    struct jp_error *err)
{
	struct tar_head head = {.type = type, .magic = "ustar", .version = {'0', '0'}};
	unsigned sum = 0;

	if (!split_path(name, &head))
		return jp_fail(err, EINVAL,
			       "%s: not a valid name in a tar archive; expected a relative path "
			       "with at most 100 bytes behind a slash",
			       name);
	if (size >= UINT64_C(1) << 33) /* eleven octal digits */
		return jp_fail(err, EFBIG, "%s: %" PRIu64 " bytes; a tar archive holds 8 GiB", name,
			       size);
	snprintf(head.mode, sizeof(head.mode), "%07o", runs || type == '5' ? 0755 : 0644);
	snprintf(head.uid, sizeof(head.uid), "%07o", 0);
	snprintf(head.gid, sizeof(head.gid), "%07o", 0);
	snprintf(head.size, sizeof(head.size), "%011" PRIo64, size);
	snprintf(head.mtime, sizeof(head.mtime), "%011o", 0);
	snprintf(head.major, sizeof(head.major), "%07o", 0);
	snprintf(head.minor, sizeof(head.minor), "%07o", 0);
	memset(head.checksum, ' ', sizeof(head.checksum));
	for (size_t i = 0; i < sizeof(head); i++)
		sum += ((const unsigned char *)&head)[i];
	snprintf(head.checksum, sizeof(head.checksum) - 1, "%06o", sum);
	jp_output_put(tar->output, &head, sizeof(head));
	return 0;
}

static void pad_block(struct jp_tar *tar, uint64_t size)
{
	static const char zeros[BLOCK];

	jp_output_put(tar->output, zeros, (size_t)(-size % BLOCK));
}

int jp_tar_folder(struct jp_tar *tar, const char *name, struct jp_error *err)
{
	return put_head(tar, name, '5', false, 0, err);
}

int jp_tar_file(struct jp_tar *tar, const char *name, bool runs, const void *bytes, size_t size,
		struct jp_error *err)
{
	int ret = put_head(tar, name, '0', runs, size, err);

	if (ret)
		return ret;
	jp_output_put(tar->output, bytes, size);
	pad_block(tar, size);
	return 0;
}

int jp_tar_copy(struct jp_tar *tar, const char *name, bool runs, const char *path,
		struct jp_error *err)
{
	static char buffer[1 << 16];
	uint64_t size, nr_copied = 0;
	jp_cleanup_close int fd = jp_untrusted_open(path, -1, &size, err);
	int ret = fd < 0 ? fd : put_head(tar, name, '0', runs, size, err);

	while (!ret && nr_copied < size) {
		size_t part = size - nr_copied < sizeof(buffer) ? size - nr_copied : sizeof(buffer);

		ret = jp_file_read_at(fd, path, buffer, part, nr_copied, err);
		if (!ret)
			jp_output_put(tar->output, buffer, part);
		nr_copied += part;
	}
	if (!ret)
		pad_block(tar, size);
	return ret;
}

void jp_tar_end(struct jp_tar *tar)
{
	static const char zeros[2 * BLOCK];

	jp_output_put(tar->output, zeros, sizeof(zeros));
}
