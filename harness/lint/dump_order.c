// SPDX-License-Identifier: GPL-2.0-only
/* Rules about records that refer to another record: DEBUG_INFO, UNWINDING_INFO and MOVE. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "harness/base/map.h"
#include "harness/lint/findings.h"

/* Returns whether the file is complete. If not, a LOAD that is missing now may still follow. */
static bool is_complete(const struct jp_lint_dump *dump)
{
	return !(dump->nr_bad && dump->bad_ranges[dump->nr_bad - 1].gap.end) && !dump->file.process;
}

static void report_lost_lines(const struct jp_jitdump_record *debug,
			      const struct jp_jitdump_record *previous,
			      struct jp_lint_findings *findings)
{
	if (previous && previous->load.addr == debug->debug.addr)
		jp_lint_found(findings, debug->offset,
			      "DEBUG_INFO for 0x%" PRIx64
			      " is behind its LOAD; expected before it: "
			      "readers apply it to the next LOAD",
			      debug->debug.addr);
	else
		jp_lint_found(findings, debug->offset,
			      "DEBUG_INFO for 0x%" PRIx64 ", and the next record is not the LOAD "
			      "of that code",
			      debug->debug.addr);
}

static void check_debug_order(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	const struct jp_jitdump_record *open_debug = NULL, *previous = NULL;

	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];

		if (record->type != JP_JITDUMP_LOAD && record->type != JP_JITDUMP_DEBUG_INFO)
			continue;
		if (open_debug && (record->type != JP_JITDUMP_LOAD ||
				   record->load.addr != open_debug->debug.addr))
			report_lost_lines(open_debug, previous, findings);
		open_debug = record->type == JP_JITDUMP_DEBUG_INFO ? record : NULL;
		previous = open_debug ? previous : record;
	}
	if (open_debug && is_complete(dump))
		report_lost_lines(open_debug, previous, findings);
}

static void check_debug_range(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	const struct jp_jitdump_record *debug = NULL;

	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];
		struct jp_jitdump_line line;
		size_t cursor = 0;

		if (record->type == JP_JITDUMP_DEBUG_INFO)
			debug = record;
		if (record->type != JP_JITDUMP_LOAD || !debug)
			continue;
		while (debug->debug.addr == record->load.addr &&
		       jp_jitdump_next_line(debug, &cursor, &line)) {
			if (line.addr - record->load.addr <= record->load.size)
				continue;
			jp_lint_found(findings, debug->offset,
				      "a line at 0x%" PRIx64 ", outside its code of %" PRIu64
				      " bytes at 0x%" PRIx64,
				      line.addr, record->load.size, record->load.addr);
			break;
		}
		debug = NULL;
	}
}

static void check_debug_size(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];
		size_t rest_size;

		if (record->type != JP_JITDUMP_DEBUG_INFO)
			continue;
		rest_size = record->debug.room - record->debug.size;
		/* Writers pad so that the record's size, or its end in the file, is a multiple
		 * of 8.
		 */
		if (rest_size >= 8)
			jp_lint_found(findings, record->offset,
				      "%" PRIu64 " lines end %zu bytes before the record does: a "
				      "file name contains a NUL, or the number of lines is too "
				      "small",
				      record->debug.count, rest_size);
	}
}

static void check_unwinding_order(const struct jp_lint_dump *dump,
				  struct jp_lint_findings *findings)
{
	const struct jp_jitdump_record *open_unwinding = NULL;

	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];

		if (record->type == JP_JITDUMP_LOAD)
			open_unwinding = NULL;
		if (record->type != JP_JITDUMP_UNWINDING_INFO)
			continue;
		if (open_unwinding)
			jp_lint_found(findings, open_unwinding->offset,
				      "no LOAD before the next UNWINDING_INFO: this one is lost");
		open_unwinding = record;
	}
	if (open_unwinding && is_complete(dump))
		jp_lint_found(
			findings, open_unwinding->offset,
			"no LOAD follows this UNWINDING_INFO; expected the LOAD of its code right "
			"after it");
}

/* State of the code with one index, which MOVE records of that index must match. */
struct moved_code {
	uint64_t addr, size;
};

static void check_move(struct jp_map *by_index, const struct jp_jitdump_record *record,
		       struct jp_lint_findings *findings)
{
	struct moved_code *code = jp_map_find(by_index, record->move.index);

	if (!code)
		jp_lint_found(findings, record->offset,
			      "MOVE of code index %" PRIu64 ", which no LOAD has",
			      record->move.index);
	else if (code->addr != record->move.old_addr)
		jp_lint_found(findings, record->offset,
			      "MOVE from 0x%" PRIx64 ", but the code of index %" PRIu64
			      " is at 0x%" PRIx64,
			      record->move.old_addr, record->move.index, code->addr);
	else if (code->size != record->move.size)
		jp_lint_found(findings, record->offset,
			      "MOVE of %" PRIu64 " bytes; the code of index %" PRIu64
			      " has %" PRIu64 ", and code cannot change its size",
			      record->move.size, record->move.index, code->size);
	if (code)
		code->addr = record->move.new_addr;
}

static void check_moves(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_map by_index = {0};

	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];
		struct moved_code *code;

		if (record->type == JP_JITDUMP_MOVE)
			check_move(&by_index, record, findings);
		if (record->type != JP_JITDUMP_LOAD)
			continue;
		code = jp_map_at(&by_index, record->load.index, sizeof(*code));
		if (!code) {
			findings->failed = -ENOMEM;
			break;
		}
		*code = (struct moved_code){record->load.addr, record->load.size};
	}
	jp_map_free(&by_index);
}

static const struct jp_lint_rule rules[] = {
	{"dump.debug-order", JP_LINT_ERROR,
	 "DEBUG_INFO that does not directly precede the LOAD of its code",
	 .dump = check_debug_order},
	{"dump.debug-range", JP_LINT_WARNING, "DEBUG_INFO has lines outside its code",
	 .dump = check_debug_range},
	{"dump.debug-size", JP_LINT_ERROR, "DEBUG_INFO is longer than its lines",
	 .dump = check_debug_size},
	{"dump.unwinding-order", JP_LINT_ERROR, "UNWINDING_INFO that no LOAD follows",
	 .dump = check_unwinding_order},
	{"dump.move", JP_LINT_ERROR, "MOVE of code that is not at that address, or of another size",
	 .dump = check_moves},
};
JP_REGISTER_ROWS(lint_rule, rules);
