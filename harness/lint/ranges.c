// SPDX-License-Identifier: GPL-2.0-only
/* Rules about addresses and sizes of code, and about its mappings. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/format/truth/format.h"
#include "harness/lint/code.h"

/* The lowest kernel address on 64-bit machines. */
#define KERNEL (UINT64_C(1) << 63)

static void check_dump_sizes(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];

		if (record->type == JP_JITDUMP_LOAD && !record->load.size)
			jp_lint_found(findings, record->offset,
				      "'%.80s' has no code: it names nothing", record->load.name);
	}
}

static void check_map_sizes(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < map->count; i++)
		if (!map->lines[i].size)
			jp_lint_found(
				findings, map->lines[i].number,
				"'%.80s' has size 0: perf finds it at its first address alone",
				map->lines[i].name);
}

static void check_address(struct jp_lint_findings *findings, uint64_t position, uint64_t start,
			  uint64_t size)
{
	if (!start || start >= KERNEL || size > KERNEL - start)
		jp_lint_found(findings, position,
			      "%" PRIu64 " bytes at 0x%" PRIx64 ", where no process can have code",
			      size, start);
}

static void check_dump_addresses(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];

		if (record->type == JP_JITDUMP_LOAD)
			check_address(findings, record->offset, record->load.addr,
				      record->load.size);
		else if (record->type == JP_JITDUMP_MOVE)
			check_address(findings, record->offset, record->move.new_addr,
				      record->move.size);
	}
}

static void check_map_addresses(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < map->count; i++)
		check_address(findings, map->lines[i].number, map->lines[i].start,
			      map->lines[i].size);
}

static void check_vma(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	size_t count = 0, loads = 0, first = 0;

	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];

		loads += record->type == JP_JITDUMP_LOAD;
		if (record->type == JP_JITDUMP_LOAD && record->load.vma != record->load.addr &&
		    !count++)
			first = i;
	}
	if (count)
		jp_lint_found(findings, dump->records[first].offset,
			      "vma is 0x%" PRIx64 ", code_addr 0x%" PRIx64
			      "; expected the same, in %zu of %zu LOADs",
			      dump->records[first].load.vma, dump->records[first].load.addr, count,
			      loads);
}

static void check_load_padding(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < dump->count; i++) {
		const struct jp_jitdump_record *record = &dump->records[i];
		const unsigned char *behind;

		if (record->type != JP_JITDUMP_LOAD)
			continue;
		behind = (const unsigned char *)record->load.name + strlen(record->load.name) + 1;
		if (record->load.code != behind)
			jp_lint_found(
				findings, record->offset,
				"%td bytes more than name and code: readers take the code from the "
				"record's end",
				record->load.code - behind);
	}
}

static void check_code_is_mapped(const struct jp_lint_process *process, struct jp_lint_code *codes,
				 size_t count, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < count; i++) {
		const struct jp_procmap *map = jp_lint_find_mapping(process, codes[i].start);

		if (!map || !(map->prot & JP_PROT_EXEC) || codes[i].end > map->end)
			jp_lint_found(findings, codes[i].place,
				      "'%.80s' at 0x%" PRIx64
				      " is in no executable mapping: it was "
				      "freed, or never there",
				      codes[i].name, codes[i].start);
	}
	free(codes);
}

static void check_dump_mapped(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	struct jp_lint_code *codes;
	size_t count;

	if (dump->file.process && (codes = jp_lint_code_of_dump(dump, &count, findings)))
		check_code_is_mapped(dump->file.process, codes, count, findings);
}

static void check_map_mapped(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	struct jp_lint_code *codes;
	size_t count;

	if (map->file.process && (codes = jp_lint_code_of_map(map, &count, findings)))
		check_code_is_mapped(map->file.process, codes, count, findings);
}

static const struct jp_lint_rule rules[] = {
	{"code.size", JP_LINT_WARNING, "code has size 0", .dump = check_dump_sizes,
	 .map = check_map_sizes},
	{"code.address", JP_LINT_ERROR, "code is where no process can have any",
	 .dump = check_dump_addresses, .map = check_map_addresses},
	{"dump.vma", JP_LINT_WARNING, "vma is not the address of the code", .dump = check_vma},
	{"dump.load-padding", JP_LINT_ERROR, "a LOAD is longer than its name and code",
	 .dump = check_load_padding},
	{"code.unmapped", JP_LINT_WARNING, "code is in no executable mapping of the process",
	 .dump = check_dump_mapped, .map = check_map_mapped},
};
JP_REGISTER_ROWS(lint_rule, rules);
