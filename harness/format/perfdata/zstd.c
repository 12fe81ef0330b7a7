// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/zstd.h"

#include <errno.h>
#include <stdlib.h>

#ifdef JP_HAVE_ZSTD
#include <zstd.h>

struct jp_zstd {
	ZSTD_DStream *stream;
};

struct jp_zstd *jp_zstd_new(struct jp_error *err)
{
	struct jp_zstd *zstd = malloc(sizeof(*zstd));

	if (zstd) {
		zstd->stream = ZSTD_createDStream();
		if (zstd->stream && !ZSTD_isError(ZSTD_initDStream(zstd->stream)))
			return zstd;
	}
	jp_zstd_free(zstd);
	jp_fail(err, ENOMEM, "out of memory while decompressing with libzstd");
	return NULL;
}

void jp_zstd_free(struct jp_zstd *zstd)
{
	if (!zstd)
		return;
	ZSTD_freeDStream(zstd->stream);
	free(zstd);
}

static int grow_output(unsigned char **out, size_t *capacity, size_t limit, struct jp_error *err)
{
	size_t new_capacity =
		*capacity < ZSTD_DStreamOutSize() ? ZSTD_DStreamOutSize() : *capacity * 2;
	unsigned char *grown;

	if (*capacity >= limit)
		return jp_fail(err, E2BIG, "compressed data that unpacks to more than %zu bytes",
			       limit);
	if (new_capacity > limit)
		new_capacity = limit;
	grown = realloc(*out, new_capacity);
	if (!grown)
		return jp_fail(err, ENOMEM, "out of memory for %zu bytes of unpacked data",
			       new_capacity);
	*out = grown;
	*capacity = new_capacity;
	return 0;
}

int jp_zstd_decompress(struct jp_zstd *zstd, const void *source, size_t size, unsigned char **out,
		       size_t *capacity, size_t *length, size_t limit, struct jp_error *err)
{
	ZSTD_inBuffer input = {source, size, 0};

	for (;;) {
		ZSTD_outBuffer output = {*out, *capacity, *length};
		size_t hint;

		if (*length == *capacity) {
			int ret = grow_output(out, capacity, limit, err);

			if (ret)
				return ret;
			continue;
		}
		hint = ZSTD_decompressStream(zstd->stream, &output, &input);
		if (ZSTD_isError(hint))
			return jp_fail(err, EINVAL, "zstd: %s", ZSTD_getErrorName(hint));
		*length = output.pos;
		/* zstd may hold back more data only if the output buffer is completely filled. */
		if (input.pos == input.size && output.pos < output.size)
			return 0;
	}
}

#else

struct jp_zstd *jp_zstd_new(struct jp_error *err)
{
	jp_fail(err, ENOTSUP, "data compressed with zstd, and this jitproof was built without it");
	return NULL;
}

void jp_zstd_free(struct jp_zstd *zstd)
{
}

int jp_zstd_decompress(struct jp_zstd *zstd, const void *in, size_t size, unsigned char **out,
		       size_t *capacity, size_t *used, size_t limit, struct jp_error *err)
{
	return jp_fail(err, ENOTSUP, "built without libzstd");
}

#endif
