// SPDX-License-Identifier: GPL-2.0-only
#include "harness/lint/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

/* Limits for hostile files with very many records: number of records, and number of stored reasons
 * why bytes are invalid. */
enum { MOST_RECORDS = 1 << 24, MOST_WHYS = 1024 };

/* Returns the part of message @text after the file's name @path and the offset, because the finding
 * already contains both. */
static const char *skip_place(const char *path, const char *text)
{
	size_t length = strlen(path);

	if (strncmp(text, path, length) == 0 && strncmp(text + length, ": offset ", 9) == 0)
		text = strchr(text + length + 9, ':') + 2;
	return text;
}

static int keep_bad_record(struct jp_lint_dump *dump, const struct jp_jitdump_gap *gap,
			   const char *text)
{
	struct jp_lint_bad *range =
		jp_array_push(&dump->bad_ranges, &dump->nr_bad, &dump->bad_capacity);

	if (!range)
		return -ENOMEM;
	range->gap = *gap;
	if (dump->nr_bad > MOST_WHYS)
		return 0;
	range->reason = strdup(skip_place(dump->file.path, text));
	return range->reason ? 0 : -ENOMEM;
}

static int read_records(struct jp_lint_dump *dump, struct jp_error *err)
{
	struct jp_jitdump_record *record;
	struct jp_jitdump_gap gap;
	struct jp_error reason;
	int has_record;

	while (dump->count + dump->nr_bad < MOST_RECORDS) {
		record = jp_array_push(&dump->records, &dump->count, &dump->capacity);
		if (!record)
			return -ENOMEM;
		has_record = jp_jitdump_next(dump->dump, record, &reason);
		if (has_record > 0)
			continue;
		dump->count--;
		if (!has_record)
			return 0;
		if (has_record != -EINVAL) {
			*err = reason;
			return has_record;
		}
		has_record = jp_jitdump_skip(dump->dump, &gap, err);
		if (has_record)
			return has_record;
		if (keep_bad_record(dump, &gap, reason.text))
			return -ENOMEM;
	}
	return jp_fail(err, E2BIG, "%s: more than %d records: expected fewer", dump->file.path,
		       MOST_RECORDS);
}

int jp_lint_dump_read(struct jp_lint_dump *dump, struct jp_error *err)
{
	int ret;

	*err = (struct jp_error){""};
	dump->dump = jp_jitdump_open_any(dump->file.path, -1, err);
	if (!dump->dump)
		return -EIO;
	dump->header = jp_jitdump_header(dump->dump);
	ret = read_records(dump, err);
	if (!ret && !(dump->bytes = jp_jitdump_read_all(dump->dump, &dump->size, err)))
		return -EIO;
	dump->unknown = jp_jitdump_count_unknown(dump->dump);
	if (ret && !*err->text)
		jp_fail(err, ENOMEM, "%s: out of memory", dump->file.path);
	return ret;
}

void jp_lint_dump_free(struct jp_lint_dump *dump)
{
	for (size_t i = 0; i < dump->nr_bad; i++)
		free((char *)dump->bad_ranges[i].reason);
	free(dump->bad_ranges);
	free(dump->records);
	jp_jitdump_close(dump->dump);
}
