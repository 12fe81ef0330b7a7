// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/observations/declared.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/number.h"

static const struct {
	const char *word;
	uint32_t missing_parts;
} words[] = {
	{"no-records", JP_LACKS_RECORDS},
	{"no-registers", JP_LACKS_REGISTERS},
	{"no-addresses", JP_LACKS_ADDRESSES},
	{"no-names", JP_LACKS_NAMES},
	{"no-mappings", JP_LACKS_MAPPINGS},
	{"no-tasks", JP_LACKS_TASKS},
	{"no-threads", JP_LACKS_THREADS},
	/* A profile that contains only counts of samples has no times, so no mapping can be
	 * replayed. */
	{"no-time", JP_LACKS_TIME | JP_LACKS_MAPPINGS | JP_LACKS_TASKS},
};

/* The unwinding method of a profiler determines which frames it cannot find, and which frame is the
 * outermost. */
static const struct {
	const char *word;
	enum jp_method method;
} unwinders[] = {
	{"frame-pointers", JP_CHAIN},
	{"cfi", JP_DUMP_CFI},
	{"cfi-or-frame-pointers", JP_DUMP},
};

enum { WORDS = sizeof(words) / sizeof(*words), UNWINDERS = sizeof(unwinders) / sizeof(*unwinders) };

const char *jp_lack_text(uint32_t missing_parts)
{
	for (size_t i = 0; i < WORDS; i++)
		if (missing_parts & (missing_parts ^ (missing_parts - 1)) & words[i].missing_parts)
			return words[i].word;
	return "nothing";
}

static const char *parse_lacking_data(struct jp_declared *declared, char *list)
{
	for (char *next, *word = strtok_r(list, " ", &next); word;
	     word = strtok_r(NULL, " ", &next)) {
		size_t i = 0;

		if (strcmp(word, "system-wide") == 0) {
			declared->system_wide = true;
			continue;
		}
		if (strcmp(word, "no-losses") == 0) {
			declared->no_losses = true;
			continue;
		}
		if (strcmp(word, "no-protections") == 0) {
			declared->no_protections = true;
			continue;
		}
		while (i < WORDS && strcmp(word, words[i].word) != 0)
			i++;
		if (i == WORDS)
			return "no-registers, no-time, no-addresses, no-names, no-mappings, "
			       "no-tasks, no-threads, no-losses, no-protections or system-wide";
		declared->lacking |= words[i].missing_parts;
	}
	if (declared->lacking & JP_LACKS_ADDRESSES && declared->lacking & JP_LACKS_NAMES)
		return "frames with addresses, with names, or with both";
	return NULL;
}

static const char *parse_unwinder(struct jp_declared *declared, const char *word)
{
	for (size_t i = 0; i < UNWINDERS; i++) {
		if (strcmp(word, unwinders[i].word) != 0)
			continue;
		declared->method = unwinders[i].method;
		return NULL;
	}
	return "frame-pointers, cfi or cfi-or-frame-pointers";
}

const char *jp_declared_parse_line(struct jp_declared *declared, char *line)
{
	char *tail = strchr(line, ' ');

	if (!tail || !tail[1])
		return "a word and its value";
	*tail++ = '\0';
	if (strcmp(line, "declares") == 0)
		return parse_lacking_data(declared, tail);
	if (strcmp(line, "unwinder") == 0)
		return parse_unwinder(declared, tail);
	if (strcmp(line, "profiler") == 0) {
		snprintf(declared->profiler, sizeof(declared->profiler), "%s", tail);
		return NULL;
	}
	return jp_number(tail, 1, UINT64_MAX, &declared->period) ? NULL : "a period in ns";
}
