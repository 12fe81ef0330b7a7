// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/new_file.h"

enum { BUFFER = 1 << 20 };

struct jp_output {
	int fd, error;
	char *path;
	uint64_t offset; /* file offset of the buffer's first byte */
	size_t used;
	unsigned char buffer[BUFFER];
};

static struct jp_output *allocate(const char *path, struct jp_error *err)
{
	struct jp_output *output = calloc(1, sizeof(*output));

	if (output && (output->path = strdup(path)))
		return output;
	free(output);
	jp_fail(err, ENOMEM, "%s: out of memory while writing it", path);
	return NULL;
}

struct jp_output *jp_output_adopt(int fd, const char *path, struct jp_error *err)
{
	struct jp_output *output = allocate(path, err);

	if (output)
		output->fd = fd;
	else
		close(fd);
	return output;
}

struct jp_output *jp_output_create(const char *path, struct jp_error *err)
{
	struct jp_output *output = allocate(path, err);

	if (!output)
		return NULL;
	output->fd = jp_new_file_create_named(path, 0600, err);
	if (output->fd >= 0)
		return output;
	jp_output_abandon(output);
	return NULL;
}

static void write_at(struct jp_output *output, uint64_t offset, const void *bytes, size_t size)
{
	const char *pos = bytes;

	while (size && !output->error) {
		ssize_t nr_written = pwrite(output->fd, pos, size, (off_t)offset);

		if (nr_written < 0 && errno == EINTR)
			continue;
		if (nr_written <= 0) {
			output->error = nr_written < 0 ? errno : EIO;
			break;
		}
		pos += nr_written;
		size -= (size_t)nr_written;
		offset += (uint64_t)nr_written;
	}
}

void jp_output_flush(struct jp_output *output)
{
	write_at(output, output->offset, output->buffer, output->used);
	output->offset += output->used;
	output->used = 0;
}

void jp_output_put(struct jp_output *output, const void *bytes, size_t size)
{
	if (!size)
		return;
	if (output->used + size > BUFFER)
		jp_output_flush(output);
	if (size > BUFFER / 2) {
		jp_output_flush(output);
		write_at(output, output->offset, bytes, size);
		output->offset += size;
		return;
	}
	memcpy(output->buffer + output->used, bytes, size);
	output->used += size;
}

void jp_output_pad(struct jp_output *output, uint64_t offset)
{
	static const char zeros[4096];
	uint64_t missing =
		offset > jp_output_offset(output) ? offset - jp_output_offset(output) : 0;

	if (missing > sizeof(zeros)) {
		jp_output_flush(output);
		output->offset += missing;
	} else {
		jp_output_put(output, zeros, missing);
	}
}

uint64_t jp_output_offset(const struct jp_output *output)
{
	return output->offset + output->used;
}

void jp_output_rewrite(struct jp_output *output, uint64_t offset, const void *bytes, size_t size)
{
	jp_output_flush(output);
	write_at(output, offset, bytes, size);
}

int jp_output_error(const struct jp_output *output)
{
	return -output->error;
}

int jp_output_close(struct jp_output *output, struct jp_error *err)
{
	int error;

	jp_output_flush(output);
	error = output->error;
	if (close(jp_steal_fd(&output->fd)) < 0 && !error)
		error = errno;
	if (error)
		jp_fail(err, error, "%s: cannot be written: %s", output->path, strerror(error));
	jp_output_abandon(output);
	return -error;
}

void jp_output_remove(struct jp_output *output)
{
	jp_new_file_remove_if_same(output->path, output->fd);
	jp_output_abandon(output);
}

void jp_output_abandon(struct jp_output *output)
{
	if (!output)
		return;
	if (output->fd >= 0)
		close(output->fd);
	free(output->path);
	free(output);
}
