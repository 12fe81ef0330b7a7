// SPDX-License-Identifier: GPL-2.0-only
/* Rules about a jitdump's records: sizes, types, the file's end. */
#include <inttypes.h>
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

static void check_record_sizes(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < dump->nr_bad; i++)
		jp_lint_found(findings, dump->bad[i].at, "%s",
			      dump->bad[i].why ?: "sizes that do not fit the record");
}

/* Kinds of bytes at which no record begins. */
enum jp_lint_rest { REST_NONE, REST_HEADER, REST_ZEROS, REST_CUT, REST_GARBAGE };

static enum jp_lint_rest classify_rest(const struct jp_lint_dump *dump,
				       struct jp_jitdump_prefix *prefix)
{
	const uint32_t magic = JP_JITDUMP_MAGIC;
	const unsigned char *rest = dump->rest;

	*prefix = (struct jp_jitdump_prefix){0};
	if (!rest)
		return REST_NONE;
	if (dump->rest_size >= sizeof(magic) && !memcmp(rest, &magic, sizeof(magic)))
		return REST_HEADER;
	if (!*rest && !memcmp(rest, rest + 1, dump->rest_size - 1))
		return REST_ZEROS;
	if (dump->rest_size < sizeof(*prefix))
		return REST_CUT;
	memcpy(prefix, rest, sizeof(*prefix));
	return prefix->id < JP_JITDUMP_TYPES && prefix->total_size >= sizeof(*prefix)
		       ? REST_CUT
		       : REST_GARBAGE;
}

static void check_cut(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_jitdump_prefix prefix;

	if (dump->file.process || classify_rest(dump, &prefix) != REST_CUT)
		return;
	if (dump->rest_size < sizeof(prefix))
		jp_lint_found(findings, dump->rest_at,
			      "cut short: a record begins here, and the file ends after %" PRIu64
			      " bytes; its first 16 say what it is",
			      dump->rest_size);
	else
		jp_lint_found(findings, dump->rest_at,
			      "cut short: a %s of %u bytes begins here, and the file ends after "
			      "%" PRIu64,
			      get_type_name(prefix.id), prefix.total_size, dump->rest_size);
}

static void check_unfinished(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_jitdump_prefix prefix;

	if (dump->file.process && classify_rest(dump, &prefix) == REST_CUT)
		jp_lint_found(
			findings, dump->rest_at,
			"the last record is not whole yet: the process writes through a buffer");
}

static void check_no_record(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_jitdump_prefix prefix;
	enum jp_lint_rest rest = classify_rest(dump, &prefix);

	if (rest == REST_HEADER)
		jp_lint_found(findings, dump->rest_at,
			      "a second header: perf stops here; the rest was not checked");
	else if (rest == REST_GARBAGE)
		jp_lint_found(findings, dump->rest_at,
			      "no record: type %u, %u bytes; readers stop here, the rest was not "
			      "checked",
			      prefix.id, prefix.total_size);
}

static void check_zeros(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_jitdump_prefix prefix;

	if (classify_rest(dump, &prefix) == REST_ZEROS)
		jp_lint_found(findings, dump->rest_at,
			      "%" PRIu64 " zeros until the end of the file, where readers stop",
			      dump->rest_size);
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
			jp_lint_found(
				findings, dump->records[i].at,
				"CLOSE, and %zu records behind it, which a reader may not look "
				"for",
				dump->count - i - 1);
}

static void check_no_close(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	if (!dump->file.process &&
	    (!dump->count || dump->records[dump->count - 1].type != JP_JITDUMP_CLOSE))
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "no CLOSE at the end, which is optional: nobody can tell whether the "
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
	{"dump.unfinished", JP_LINT_NOTE, "the process has written a part of a record",
	 .dump = check_unfinished},
	{"dump.no-record", JP_LINT_ERROR,
	 "something else than a record: a second header, or a size below 16",
	 .dump = check_no_record},
	{"dump.zero-tail", JP_LINT_WARNING, "the file is longer than what was written to it",
	 .dump = check_zeros},
	{"dump.unknown", JP_LINT_WARNING, "records of a type that the format does not define",
	 .dump = check_unknown},
	{"dump.close-middle", JP_LINT_ERROR, "records behind CLOSE", .dump = check_close_middle},
	{"dump.no-close", JP_LINT_NOTE, "the last record is not CLOSE", .dump = check_no_close},
	{"dump.no-load", JP_LINT_WARNING, "the file holds no LOAD", .dump = check_no_load},
};
JP_REGISTER_ROWS(lint_rule, rules);
