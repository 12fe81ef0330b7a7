// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/delegate.h"
#include "harness/base/shortage.h"
#include "harness/base/untrusted_file.h"

enum { STEP = 4096, BLOCK = 1 << 16 };

/* Reads as read() does, without EINTR. */
static ssize_t read_uninterrupted(int fd, void *buffer, size_t size)
{
	ssize_t nr_read;

	do
		nr_read = read(fd, buffer, size);
	while (nr_read < 0 && errno == EINTR);
	if (nr_read < 0)
		jp_shortage_note(errno);
	return nr_read;
}

static char *fail_reading(struct jp_error *err, int code, const char *name, const char *problem)
{
	jp_fail(err, code, "%s: %s", name, problem);
	errno = code;
	return NULL;
}

static char *fail_too_large(struct jp_error *err, const char *name, size_t limit)
{
	jp_fail(err, EFBIG, "%s: more than %zu bytes", name, limit);
	errno = EFBIG;
	return NULL;
}

char *jp_file_read_fd(int fd, const char *name, size_t limit, size_t *size, struct jp_error *err)
{
	jp_cleanup_free char *text = NULL;
	size_t length = 0, capacity = 0;
	ssize_t nr_read;

	do {
		if (!jp_array_reserve(&text, &capacity, length + STEP))
			return fail_reading(err, ENOMEM, name, "out of memory");
		nr_read = read_uninterrupted(fd, text + length, capacity - length);
		if (nr_read < 0)
			return fail_reading(err, errno, name, strerror(errno));
		length += (size_t)nr_read;
		if (length > limit)
			return fail_too_large(err, name, limit);
	} while (nr_read);
	text[length] = '\0';
	if (size)
		*size = length;
	return jp_steal(&text);
}

char *jp_file_read(const char *path, size_t limit, size_t *size, struct jp_error *err)
{
	jp_cleanup_close int fd = jp_named_input(path, err);

	if (fd == -EACCES && jp_is_confined())
		fd = jp_delegate_ask(JP_DELEGATED_FILE, path, err);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	return jp_file_read_fd(fd, path, limit, size, err);
}

char *jp_file_read_regular(const char *path, size_t limit, size_t *size, struct jp_error *err)
{
	uint64_t nr_read;
	jp_cleanup_close int fd = jp_untrusted_open(path, -1, &nr_read, err);
	jp_cleanup_free char *text = NULL;
	int ret;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	if (nr_read > limit)
		return fail_too_large(err, path, limit);
	text = malloc(nr_read + 1);
	if (!text)
		return fail_reading(err, ENOMEM, path, "out of memory");
	ret = jp_file_read_at(fd, path, text, nr_read, 0, err);
	if (ret) {
		errno = -ret;
		return NULL;
	}
	text[nr_read] = '\0';
	if (size)
		*size = nr_read;
	return jp_steal(&text);
}

FILE *jp_file_create(const char *path, bool replace, struct jp_error *err)
{
	jp_cleanup_close int fd = -1;
	FILE *file = NULL;

	if (!replace || !unlink(path) || errno == ENOENT)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0664);
	if (fd >= 0)
		file = fdopen(fd, "w");
	if (!file)
		jp_fail(err, errno, "%s: %s", path, strerror(errno));
	else
		jp_steal_fd(&fd);
	return file;
}

int jp_file_finish(FILE *file, const char *path, struct jp_error *err)
{
	int error = ferror(file) ? EIO : 0;

	/* fclose() tries a failed write again, which then fails for the same reason. */
	if (fclose(file))
		error = errno;
	return error ? jp_fail(err, error, "%s: cannot be written: %s", path, strerror(error)) : 0;
}

ssize_t jp_file_read_text(const char *path, char *text, size_t size)
{
	jp_cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t nr_read = fd < 0 ? -1 : read_uninterrupted(fd, text, size - 1);

	text[nr_read < 0 ? 0 : nr_read] = '\0';
	return nr_read < 0 ? -errno : nr_read;
}

long jp_file_number(const char *path, long otherwise)
{
	char text[32], *end;
	long number;

	jp_file_read_text(path, text, sizeof(text));
	number = strtol(text, &end, 10);
	return end == text ? otherwise : number;
}

int jp_file_read_at(int fd, const char *name, void *buffer, size_t size, uint64_t offset,
		    struct jp_error *err)
{
	for (size_t nr_read = 0; nr_read < size;) {
		ssize_t got = pread(fd, (char *)buffer + nr_read, size - nr_read,
				    (off_t)(offset + nr_read));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			jp_shortage_note(errno);
		if (got < 0)
			return jp_fail(err, errno, "%s: offset %" PRIu64 ": %s", name,
				       offset + nr_read, strerror(errno));
		if (!got)
			return jp_fail(err, ENODATA,
				       "%s: offset %" PRIu64
				       ": the file ends here, expected %zu bytes more",
				       name, offset + nr_read, size - nr_read);
		nr_read += (size_t)got;
	}
	return 0;
}

int jp_file_write(int fd, const void *bytes, size_t size)
{
	for (size_t nr_written = 0; nr_written < size;) {
		ssize_t result = write(fd, (const char *)bytes + nr_written, size - nr_written);

		if (result < 0 && errno == EINTR)
			continue;
		if (result <= 0)
			return result ? -errno : -EIO;
		nr_written += (size_t)result;
	}
	return 0;
}

int jp_file_copy(int input, int output, uint64_t size)
{
	char block[BLOCK];
	int ret = 0;

	for (uint64_t remaining = size; remaining && !ret;) {
		ssize_t nr_read = read_uninterrupted(
			input, block, remaining < sizeof(block) ? remaining : sizeof(block));

		if (nr_read <= 0)
			return nr_read ? -errno : size == UINT64_MAX ? 0 : -ENODATA;
		ret = jp_file_write(output, block, (size_t)nr_read);
		remaining -= (uint64_t)nr_read;
	}
	return ret;
}
