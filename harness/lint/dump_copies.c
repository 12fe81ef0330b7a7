// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules about bytes that a jitdump contains twice. A forked child has a copy of its parent's stdio
 * buffer and the parent's file offset. When it exits or closes the file, it writes that copy before
 * the parent writes the same bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "harness/base/map.h"
#include "harness/lint/findings.h"

/* Least number of equal bytes that cannot be chance: the size of a record's prefix. */
enum { LEAST = sizeof(struct jp_jitdump_prefix) };

struct copy {
	uint64_t source, offset, size;
};

static bool are_equal(const struct jp_lint_dump *dump, uint64_t a, uint64_t b, uint64_t size)
{
	return !memcmp(dump->bytes + a, dump->bytes + b, size);
}

/* Extends @copy in both directions as far as bytes are equal, but not below offset @end. The
 * original ends where the copy begins. */
static void extend_copy(const struct jp_lint_dump *dump, uint64_t end, struct copy *copy)
{
	while (copy->source > sizeof(*dump->header) && copy->offset > end &&
	       dump->bytes[copy->source - 1] == dump->bytes[copy->offset - 1]) {
		copy->source--;
		copy->offset--;
		copy->size++;
	}
	while (copy->offset + copy->size < dump->size && copy->source + copy->size < copy->offset &&
	       dump->bytes[copy->source + copy->size] == dump->bytes[copy->offset + copy->size])
		copy->size++;
}

static void report_copy(const struct copy *copy, struct jp_lint_findings *findings)
{
	jp_lint_found(findings, copy->offset,
		      "%" PRIu64 " bytes are a copy of those from offset %" PRIu64
		      " on: a forked child wrote its copy of the stdio buffer; flush the buffer "
		      "before fork(), or write each record with one write()",
		      copy->size, copy->source);
}

/* Checks gaps that repeat the bytes right before them. */
static void check_gaps(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < dump->nr_bad; i++) {
		const struct jp_jitdump_gap *gap = &dump->bad_ranges[i].gap;
		struct copy copy = {gap->offset - gap->size, gap->offset, gap->size};

		if (gap->size < LEAST || gap->size > gap->offset - sizeof(*dump->header) ||
		    are_equal(dump, gap->offset, gap->offset + 1, gap->size - 1) ||
		    !are_equal(dump, copy.source, copy.offset, gap->size))
			continue;
		report_copy(&copy, findings);
	}
}

/* Returns the offset of the first LOAD with the same time as @record, or 0 if @record is the
 * first. */
static uint64_t find_first_load(struct jp_map *first, const struct jp_jitdump_record *record,
				struct jp_lint_findings *findings)
{
	uint64_t *load_number = jp_map_at(first, record->time, sizeof(*load_number));

	if (!load_number) {
		findings->failed = -ENOMEM;
		return 0;
	}
	if (*load_number)
		return *load_number;
	*load_number = record->offset;
	return 0;
}

static void check_copies(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_map first = {0};
	uint64_t end = 0;

	check_gaps(dump, findings);
	/* A LOAD has an index of its own. Other records may be equal, such as V8's empty unwinding
	 * information of two functions at the same microsecond. */
	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];
		struct copy copy = {.offset = record->offset};
		struct jp_jitdump_prefix prefix;

		if (record->type != JP_JITDUMP_LOAD)
			continue;
		memcpy(&prefix, dump->bytes + record->offset, sizeof(prefix));
		copy.source = find_first_load(&first, record, findings);
		copy.size = prefix.total_size;
		if (!copy.source || copy.offset < end || copy.source + copy.size > copy.offset ||
		    !are_equal(dump, copy.source, copy.offset, copy.size))
			continue;
		extend_copy(dump, end, &copy);
		end = copy.offset + copy.size;
		report_copy(&copy, findings);
	}
	jp_map_free(&first);
}

static const struct jp_lint_rule rules[] = {
	{"dump.copy", JP_LINT_ERROR, "bytes occur twice: a forked child wrote its parent's buffer",
	 .dump = check_copies},
};
JP_REGISTER_ROWS(lint_rule, rules);
