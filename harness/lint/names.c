// SPDX-License-Identifier: GPL-2.0-only
/* Rules about the names of functions, which are the same for both formats. */
#include <stdbool.h>
#include <string.h>

#include "harness/base/printable.h"
#include "harness/base/utf8.h"
#include "harness/lint/findings.h"

/* struct symbol of perf holds a name's length in 16 bits. */
enum { LONGEST = 65535 };

/* Calls @check with each name. */
typedef void jp_lint_name_check(struct jp_lint_findings *findings, uint64_t at, const char *name);

static void each_of_dump(const struct jp_lint_dump *dump, struct jp_lint_findings *findings,
			 jp_lint_name_check *check)
{
	for (size_t i = 0; i < dump->count; i++)
		if (dump->records[i].type == JP_JITDUMP_LOAD)
			check(findings, dump->records[i].at, dump->records[i].load.name);
}

static void each_of_map(const struct jp_lint_map *map, struct jp_lint_findings *findings,
			jp_lint_name_check *check)
{
	for (size_t i = 0; i < map->count; i++)
		check(findings, map->lines[i].number, map->lines[i].name);
}

static void check_empty(struct jp_lint_findings *findings, uint64_t at, const char *name)
{
	if (!*name)
		jp_lint_found(findings, at, "no name");
}

static void empty_in_dump(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	each_of_dump(dump, findings, check_empty);
}

static void empty_in_map(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	each_of_map(map, findings, check_empty);
}

static const struct jp_lint_rule name_empty = {
	.name = "name.empty",
	.level = JP_LINT_WARNING,
	.help = "code without a name",
	.dump = empty_in_dump,
	.map = empty_in_map,
};
JP_REGISTER(lint_rule, name_empty);

static void check_utf8(struct jp_lint_findings *findings, uint64_t at, const char *name)
{
	const unsigned char *byte = (const unsigned char *)name;

	for (unsigned int length; *byte; byte += length) {
		length = jp_utf8_length(byte);
		if (length)
			continue;
		jp_lint_found(findings, at, "byte 0x%02x at %td of the name is not UTF-8", *byte,
			      (const char *)byte - name);
		return;
	}
}

static void utf8_in_dump(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	each_of_dump(dump, findings, check_utf8);
}

static void utf8_in_map(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	each_of_map(map, findings, check_utf8);
}

static const struct jp_lint_rule name_utf8 = {
	.name = "name.utf8",
	.level = JP_LINT_WARNING,
	.help = "a name is not UTF-8",
	.dump = utf8_in_dump,
	.map = utf8_in_map,
};
JP_REGISTER(lint_rule, name_utf8);

static void check_control(struct jp_lint_findings *findings, uint64_t at, const char *name)
{
	for (const char *byte = name; *byte;) {
		const unsigned int shown = jp_printable_length(byte);
		const unsigned int length = jp_utf8_length((const unsigned char *)byte);

		if (!shown && length) {
			jp_lint_found(findings, at,
				      "control character 0x%02x at %td of the name: it ends up in "
				      "tables and on terminals",
				      jp_utf8_code((const unsigned char *)byte, length),
				      byte - name);
			return;
		}
		byte += length ?: 1;
	}
}

static void control_in_dump(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	each_of_dump(dump, findings, check_control);
}

static void control_in_map(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	each_of_map(map, findings, check_control);
}

static const struct jp_lint_rule name_control = {
	.name = "name.control",
	.level = JP_LINT_WARNING,
	.help = "a name holds control characters",
	.dump = control_in_dump,
	.map = control_in_map,
};
JP_REGISTER(lint_rule, name_control);

static void check_long(struct jp_lint_findings *findings, uint64_t at, const char *name)
{
	size_t length = strlen(name);

	if (length > LONGEST)
		jp_lint_found(findings, at, "a name of %zu bytes; perf counts to %d", length,
			      LONGEST);
}

static void long_in_dump(const struct jp_lint_dump *dump, struct jp_lint_findings *findings)
{
	each_of_dump(dump, findings, check_long);
}

static void long_in_map(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	each_of_map(map, findings, check_long);
}

static const struct jp_lint_rule name_long = {
	.name = "name.long",
	.level = JP_LINT_WARNING,
	.help = "a name is longer than perf can count",
	.dump = long_in_dump,
	.map = long_in_map,
};
JP_REGISTER(lint_rule, name_long);
