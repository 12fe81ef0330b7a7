// SPDX-License-Identifier: GPL-2.0-only
/* Rules about the syntax of a perf map's lines, its name and its folder. */
#include <inttypes.h>
#include <string.h>

#include "harness/lint/findings.h"

static void check_lines(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < map->nr_bad; i++)
		for (uint32_t j = 0; j < map->bad_lines[i].count; j++)
			jp_lint_found(findings, map->bad_lines[i].first + j, "expected %s",
				      map->bad_lines[i].reason);
}

/* Reports a dialect once with the number of its lines, since it is a property of the writer. */
static void report_dialect(const struct jp_lint_map *map, struct jp_lint_findings *findings,
			   unsigned int dialect, const char *finding)
{
	const struct jp_lint_line *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < map->count; i++)
		if (map->lines[i].dialect & dialect && !count++)
			first = &map->lines[i];
	if (count)
		jp_lint_found(findings, first->number, "%s, in %zu of %zu lines", finding, count,
			      map->count);
}

static void check_prefix(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	report_dialect(map, findings, JP_LINT_PREFIX, "0x before a number; expected digits alone");
}

static void check_blanks(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	report_dialect(map, findings, JP_LINT_BLANKS, "tabs or several blanks; expected one blank");
}

static void check_return(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	report_dialect(map, findings, JP_LINT_RETURN,
		       "a carriage return, which is then part of the name");
}

static void check_upper(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	report_dialect(map, findings, JP_LINT_UPPER,
		       "capital hexadecimal digits, which some readers reject");
}

static void check_short_names(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	for (size_t i = 0; i < map->count; i++) {
		const char *name = map->lines[i].name;

		if (*name && strlen(name) < 3)
			jp_lint_found(findings, map->lines[i].number,
				      "'%s': perf ignores names of one or two characters", name);
	}
}

static void check_last_line(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	if (map->unfinished)
		jp_lint_found(
			findings, JP_LINT_WHOLE,
			"the last line has no newline: perf takes its last character for one");
}

static void check_no_line(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	if (!map->count)
		jp_lint_found(findings, JP_LINT_WHOLE, "no line: the file names nothing");
}

static void check_file_name(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	const struct jp_lint_process *process = map->file.process;

	if (map->file.named_pid < 0)
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "perf looks for /tmp/perf-PID.map; this file has another name");
	else if (process && map->file.named_pid != process->own_pid)
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "the file name's pid is %" PRId64 ", the process's own pid is %u",
			      map->file.named_pid, process->own_pid);
}

static void check_folder(const struct jp_lint_map *map, struct jp_lint_findings *findings)
{
	const char *slash = strrchr(map->file.path, '/');
	size_t length = slash ? (size_t)(slash - map->file.path) : 0;

	if (map->file.named_pid >= 0 && (length < 4 || strncmp(slash - 4, "/tmp", 4) != 0))
		jp_lint_found(findings, JP_LINT_WHOLE,
			      "the file is not in /tmp, the one place where perf looks");
}

static const struct jp_lint_rule rules[] = {
	{"map.line", JP_LINT_ERROR, "a line is not START SIZE NAME", .map = check_lines},
	{"map.prefix", JP_LINT_WARNING, "numbers begin with 0x", .map = check_prefix},
	{"map.blanks", JP_LINT_WARNING, "the parts are not separated by exactly one blank",
	 .map = check_blanks},
	{"map.crlf", JP_LINT_WARNING, "lines end with CR LF", .map = check_return},
	{"map.upper", JP_LINT_NOTE, "numbers have capital hexadecimal digits", .map = check_upper},
	{"map.short-name", JP_LINT_WARNING, "a name has fewer than three characters",
	 .map = check_short_names},
	{"map.last-line", JP_LINT_WARNING, "the last line has no newline", .map = check_last_line},
	{"map.empty", JP_LINT_WARNING, "the file has no line", .map = check_no_line},
	{"map.file-name", JP_LINT_ERROR, "the file is not called perf-PID.map",
	 .map = check_file_name},
	{"map.folder", JP_LINT_NOTE, "the file is not in /tmp", .map = check_folder},
};
JP_REGISTER_ROWS(lint_rule, rules);
