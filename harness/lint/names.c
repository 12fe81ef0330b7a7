// SPDX-License-Identifier: GPL-2.0-only
/* Rules about the names of functions, for both formats. */
#include <string.h>

#include "harness/base/printable.h"
#include "harness/lint/findings.h"

/* Longest name in perf: its struct symbol stores the length in 16 bits. */
enum { LONGEST = 65535 };

static void check_empty_name(struct jp_lint_findings *findings, uint64_t position, const char *name)
{
	if (!*name)
		jp_lint_found(findings, position, "no name");
}

static void check_utf8(struct jp_lint_findings *findings, uint64_t position, const char *name)
{
	const unsigned char *byte = (const unsigned char *)name;

	for (unsigned int length; *byte; byte += length) {
		length = jp_utf8_length(byte);
		if (length)
			continue;
		jp_lint_found(findings, position, "byte 0x%02x at %td of the name is not UTF-8",
			      *byte, (const char *)byte - name);
		return;
	}
}

static void check_control(struct jp_lint_findings *findings, uint64_t position, const char *name)
{
	for (const char *byte = name; *byte;) {
		const unsigned int is_printable = jp_printable_length(byte);
		const unsigned int length = jp_utf8_length((const unsigned char *)byte);

		if (!is_printable && length) {
			jp_lint_found(findings, position,
				      "control character 0x%02x at %td of the name: it ends up in "
				      "tables and on terminals",
				      jp_utf8_code((const unsigned char *)byte, length),
				      byte - name);
			return;
		}
		byte += length ?: 1;
	}
}

static void check_length(struct jp_lint_findings *findings, uint64_t position, const char *name)
{
	size_t length = strlen(name);

	if (length > LONGEST)
		jp_lint_found(findings, position, "a name of %zu bytes; perf reads at most %d",
			      length, LONGEST);
}

static const struct jp_lint_rule rules[] = {
	{"name.empty", JP_LINT_WARNING, "code without a name", .each_name = check_empty_name},
	{"name.utf8", JP_LINT_WARNING, "a name is not UTF-8", .each_name = check_utf8},
	{"name.control", JP_LINT_WARNING, "a name contains control characters",
	 .each_name = check_control},
	{"name.long", JP_LINT_WARNING, "a name is longer than perf can read",
	 .each_name = check_length},
};
JP_REGISTER_ROWS(lint_rule, rules);
