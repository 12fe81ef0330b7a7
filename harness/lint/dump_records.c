// SPDX-License-Identifier: GPL-2.0-only
/* Rules about a jitdump's records: sizes, types, the file's end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/lint/findings.h"

static const char *get_type_name(enum jp_jitdump_type type)
{
	static const char *const names[JP_JITDUMP_TYPES] = {
		[JP_JITDUMP_LOAD] = "LOAD",
		[JP_JITDUMP_MOVE] = "MOVE",
		[JP_JITDUMP_DEBUG_INFO] = "DEBUG_INFO",
		[JP_JITDUMP_CLOSE] = "CLOSE",
		[JP_JITDUMP_UNWINDING_INFO] = "UNWINDING_INFO",
	};

	return names[type];
}

/* Kinds of invalid bytes. */
enum jp_lint_rest { REST_RECORD, REST_HEADER, REST_ZEROS, REST_CUT, REST_GARBAGE };

static enum jp_lint_rest classify_gap(const struct jp_lint_dump *dump,
				      const struct jp_jitdump_gap *gap,
				      struct jp_jitdump_prefix *prefix)
{
	const uint32_t magic = JP_JITDUMP_MAGIC;
	const unsigned char *bytes = dump->bytes + gap->offset;
	const uint64_t remaining = dump->size - gap->offset;

	*prefix = (struct jp_jitdump_prefix){0};
	if (remaining >= sizeof(magic) && !memcmp(bytes, &magic, sizeof(magic)))
		return REST_HEADER;
	if (gap->end && !*bytes && !memcmp(bytes, bytes + 1, remaining - 1))
		return REST_ZEROS;
	if (remaining < sizeof(*prefix))
		return REST_CUT;
	memcpy(prefix, bytes, sizeof(*prefix));
	if (prefix->id >= JP_JITDUMP_TYPES || prefix->total_size < sizeof(*prefix))
		return REST_GARBAGE;
	if (prefix->total_size <= remaining)
		return REST_RECORD;
	return gap->end ? REST_CUT : REST_GARBAGE;
}

/* Describes where the next record is. */
static const char *describe_next(const struct jp_jitdump_gap *gap, char *text, size_t size)
{
	if (gap->end)
		snprintf(text, size, "no valid record follows in %" PRIu64 " bytes", gap->size);
	else if (gap->size)
		snprintf(text, size,
			 "skipped %" PRIu64 " bytes to the next valid record at offset %" PRIu64,
			 gap->size, gap->offset + gap->size);
	else
		snprintf(text, size, "bytes are missing: the record before contains other records");
	return text;
}

static void check_record_sizes(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_jitdump_prefix prefix;
	char next[128];

	for (size_t i = 0; i < dump->nr_bad; i++) {
		const struct jp_lint_bad *range = &dump->bad_ranges[i];

		if (classify_gap(dump, &range->gap, &prefix) == REST_RECORD)
			jp_lint_found(findings, range->gap.offset, "%s; %s",
				      range->reason ?: "sizes that do not fit the record",
				      describe_next(&range->gap, next, sizeof(next)));
	}
}

static void check_cut(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	const struct jp_lint_bad *last = dump->nr_bad ? &dump->bad_ranges[dump->nr_bad - 1] : NULL;
	struct jp_jitdump_prefix prefix;

	if (!last || dump->file.process || classify_gap(dump, &last->gap, &prefix) != REST_CUT)
		return;
	if (last->gap.size < sizeof(prefix))
		jp_lint_found(findings, last->gap.offset,
			      "cut short: a record begins here, and the file ends after %" PRIu64
			      " bytes; its first 16 identify it",
			      last->gap.size);
	else
		jp_lint_found(findings, last->gap.offset,
			      "cut short: a %s of %u bytes begins here, and the file ends after "
			      "%" PRIu64,
			      get_type_name(prefix.id), prefix.total_size, last->gap.size);
}

static void check_unfinished(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	const struct jp_lint_bad *last = dump->nr_bad ? &dump->bad_ranges[dump->nr_bad - 1] : NULL;
	struct jp_jitdump_prefix prefix;

	if (last && dump->file.process && classify_gap(dump, &last->gap, &prefix) == REST_CUT)
		jp_lint_found(
			findings, last->gap.offset,
			"the last record is not whole yet: the process writes through a buffer");
}

static void check_no_record(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_jitdump_prefix prefix;
	char next[128];

	for (size_t i = 0; i < dump->nr_bad; i++) {
		const struct jp_jitdump_gap *gap = &dump->bad_ranges[i].gap;
		enum jp_lint_rest rest_kind = classify_gap(dump, gap, &prefix);

		if (rest_kind != REST_HEADER && rest_kind != REST_GARBAGE)
			continue;
		describe_next(gap, next, sizeof(next));
		if (rest_kind == REST_HEADER)
			jp_lint_found(findings, gap->offset, "a second header: perf stops here; %s",
				      next);
		else
			jp_lint_found(findings, gap->offset,
				      "invalid record: type %u, %u bytes; perf stops here; %s",
				      prefix.id, prefix.total_size, next);
	}
}

static void check_zeros(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	const struct jp_lint_bad *last = dump->nr_bad ? &dump->bad_ranges[dump->nr_bad - 1] : NULL;
	struct jp_jitdump_prefix prefix;

	if (last && classify_gap(dump, &last->gap, &prefix) == REST_ZEROS)
		jp_lint_found(findings, last->gap.offset,
			      "%" PRIu64 " zeros until the end of the file, where readers stop",
			      last->gap.size);
}

static void check_unknown(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	if (dump->unknown)
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "%" PRIu64 " records of a type above %d, which no reader knows",
			      dump->unknown, JP_JITDUMP_TYPES - 1);
}

static void check_close_middle(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i + 1 < dump->count; i++)
		if (dump->records[i].type == JP_JITDUMP_CLOSE)
			jp_lint_found(findings, dump->records[i].offset,
				      "CLOSE is not the last record: readers may ignore the %zu "
				      "records behind it",
				      dump->count - i - 1);
}

static void check_no_close(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	if (!dump->file.process &&
	    (!dump->count || dump->records[dump->count - 1].type != JP_JITDUMP_CLOSE))
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "no CLOSE at the end, which is optional: it is unknown whether the "
			      "file is whole");
}

static void check_no_load(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < dump->count; i++)
		if (dump->records[i].type == JP_JITDUMP_LOAD)
			return;
	jp_lint_found(findings, JP_LINT_WHOLE, "no LOAD: the file names nothing");
}

static const struct jp_lint_rule rules[] = {
	{"dump.record", JP_LINT_ERROR, "a record's sizes, or a name in it, do not fit the record",
	 .dump = check_record_sizes},
	{"dump.cut-short", JP_LINT_ERROR, "the file ends within a record", .dump = check_cut},
	{"dump.unfinished", JP_LINT_NOTE, "the process has written only a part of the last record",
	 .dump = check_unfinished},
	{"dump.no-record", JP_LINT_ERROR,
	 "a second header, or a record with an impossible type or size", .dump = check_no_record},
	{"dump.zero-tail", JP_LINT_WARNING, "zeros follow the last record", .dump = check_zeros},
	{"dump.unknown", JP_LINT_WARNING, "records of a type that the format does not define",
	 .dump = check_unknown},
	{"dump.close-middle", JP_LINT_ERROR, "records behind CLOSE", .dump = check_close_middle},
	{"dump.no-close", JP_LINT_NOTE, "the last record is not CLOSE", .dump = check_no_close},
	{"dump.no-load", JP_LINT_WARNING, "the file holds no LOAD", .dump = check_no_load},
};
JP_REGISTER_ROWS(lint_rule, rules);
