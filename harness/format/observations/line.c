// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/observations/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/number.h"
#include "harness/format/observations/word.h"

bool jp_observation_is_header(const char *line, size_t size)
{
	static const char *const words[] = {"declares ", "unwinder ", "profiler ", "period "};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t length = strlen(words[i]);

		if (size >= length && memcmp(line, words[i], length) == 0)
			return true;
	}
	return false;
}

bool jp_observation_time(const struct jp_declared *declared, const char *line, size_t size,
			 uint64_t *time)
{
	const char *blank = memchr(line, ' ', size), *pos, *end = line + size;
	char text[24];
	size_t length = 0;

	*time = 0;
	if (declared->lacking & JP_LACKS_TIME)
		return true;
	for (pos = blank ? blank + 1 : end; pos < end && *pos != ' ' && length < sizeof(text) - 1;
	     pos++)
		text[length++] = *pos;
	text[length] = '\0';
	/* A longer number has leading zeros. It would be truncated here and sorted wrongly. */
	return length < sizeof(text) - 1 && jp_number(text, 0, UINT64_MAX, time);
}

void jp_observation_begin(struct jp_observation_line *parser)
{
	const struct jp_declared *declared = parser->declared;

	parser->request = (struct jp_event_asked){
		.period = declared->period,
		.sideband = !(declared->lacking & JP_LACKS_MAPPINGS),
		.chain = true,
		.user_chain = true,
		.user = true,
		.timed = !(declared->lacking & JP_LACKS_TIME),
		.threads = !(declared->lacking & JP_LACKS_THREADS),
	};
	parser->chain[0] = JP_CONTEXT_USER;
}

void jp_observation_end(struct jp_observation_line *parser)
{
	free(parser->map);
	parser->map = NULL;
}

static bool parse_number(char **line, uint64_t max, uint64_t *value)
{
	const char *text = jp_word_split(line);

	return text && jp_number(text, 0, max, value);
}

static bool parse_id(char **line, uint32_t *value)
{
	uint64_t wide;

	if (!parse_number(line, INT32_MAX, &wide))
		return false;
	*value = (uint32_t)wide;
	return true;
}

/* Parses frame number @index of a stack: ADDRESS, ADDRESS=NAME or NAME. The name "?" means unknown.
 */
static const char *parse_frame(struct jp_observation_line *parser, char *text, uint64_t index)
{
	const uint32_t missing_parts = parser->declared->lacking;
	uint64_t address = 0;
	char *name = text;

	if (text[0] == '0' && text[1] == 'x') {
		const char *tail = text;

		if (missing_parts & JP_LACKS_ADDRESSES)
			return "only names, because the header declares no-addresses";
		if (!jp_number_take(&tail, 16, UINT64_MAX, &address) || (*tail && *tail != '='))
			return "a frame such as 0x7f12, 0x7f12=name or name";
		name = *tail ? text + (tail - text) + 1 : NULL;
		if (name && !*name)
			return "a name after =, or no =";
	} else if (!(missing_parts & JP_LACKS_ADDRESSES)) {
		return "an address in each frame, or no-addresses in the header";
	}
	if (name && missing_parts & JP_LACKS_NAMES)
		return "only addresses, because the header declares no-names";
	if (name && !jp_word_unescape(name))
		return "%XX, and not %00, for a byte of a name";
	parser->chain[1 + index] = address;
	parser->names[index] = name && strcmp(name, "?") != 0 ? name : NULL;
	return NULL;
}

static const char *parse_sample(struct jp_observation_line *parser, char *line)
{
	struct jp_event *event = &parser->event;
	const uint32_t missing_parts = parser->declared->lacking;
	uint64_t frames = 0;
	const char *expected = NULL;

	event->type = JP_EVENT_SAMPLE;
	event->observed = &parser->observed;
	if (missing_parts & JP_LACKS_TIME && !parser->observed.weight)
		return "a count of samples above 0";
	if (!parse_id(&line, &event->pid))
		return "the pid of a sample";
	event->tid = 0;
	if (missing_parts & JP_LACKS_THREADS) {
		const char *dash = jp_word_split(&line);

		if (!dash || strcmp(dash, "-") != 0)
			return "- as the tid, because the header declares no-threads";
	} else if (!parse_id(&line, &event->tid)) {
		return "the tid of a sample";
	}
	for (char *text; !expected && (text = jp_word_split(&line)); frames++) {
		if (frames == JP_OBSERVATION_FRAMES)
			return "at most 4096 frames";
		expected = parse_frame(parser, text, frames);
	}
	if (!expected && *line)
		return "one blank between frames";
	parser->observed.nr_names = frames;
	event->sample.period = parser->declared->period;
	event->sample.ip = frames ? parser->chain[1] : 0;
	event->sample.user = frames && !(missing_parts & JP_LACKS_ADDRESSES);
	event->misc = event->sample.user ? JP_CPU_USER : JP_CPU_UNKNOWN;
	if (!(missing_parts & JP_LACKS_ADDRESSES)) {
		event->sample.chain = parser->chain;
		event->sample.nr_chain = 1 + frames;
	}
	return expected;
}

/* Parses a mapping: a pid, then a line of /proc/PID/maps. */
static const char *parse_map(struct jp_observation_line *parser, char *line)
{
	struct jp_event *event = &parser->event;
	struct jp_error err;
	const struct jp_procmap *map;
	size_t count, size;

	if (parser->declared->lacking & JP_LACKS_MAPPINGS)
		return "no line map, because the header declares no-mappings";
	if (!parse_id(&line, &event->pid))
		return "the pid of a mapping";
	event->tid = event->pid;
	size = strlen(line);
	line[size] = '\n';
	jp_observation_end(parser);
	if (jp_procmaps_parse(line, size + 1, &parser->map, &count, &err)) {
		snprintf(parser->expected, sizeof(parser->expected),
			 "a line as of /proc/PID/maps (%.100s)", err.text);
		return parser->expected;
	}
	map = parser->map;
	event->type = JP_EVENT_MAP;
	event->map = jp_procmap_event(map, 0, 0).map;
	event->map.has_identity = map->maj || map->min || map->ino;
	return NULL;
}

static const char *parse_task(struct jp_observation_line *parser, char *line, bool is_fork)
{
	struct jp_event *event = &parser->event;

	event->type = is_fork ? JP_EVENT_FORK : JP_EVENT_EXIT;
	if (!parse_id(&line, &event->pid) || !parse_id(&line, &event->tid))
		return "the pid and the tid of a thread";
	event->task.ppid = event->pid;
	event->task.ptid = event->tid;
	event->task.time = event->time;
	event->task.start_kind = JP_START_FORK;
	if (is_fork && (!parse_id(&line, &event->task.ppid) || !parse_id(&line, &event->task.ptid)))
		return "the pid and the tid of the thread that forked it";
	return *line ? "nothing more" : NULL;
}

static const char *parse_comm(struct jp_observation_line *parser, char *line, bool is_exec)
{
	struct jp_event *event = &parser->event;

	event->type = JP_EVENT_COMM;
	event->comm.exec = is_exec;
	if (!parse_id(&line, &event->pid))
		return "a pid";
	event->tid = event->pid;
	if (!is_exec && !parse_id(&line, &event->tid))
		return "a tid";
	event->comm.name = line;
	return *line && jp_word_unescape(line) ? NULL : "a name, with %XX for a byte of it";
}

static const char *parse_lost(struct jp_observation_line *parser, char *line)
{
	struct jp_event *event = &parser->event;
	const char *unit = jp_word_split(&line);
	bool samples = unit && strcmp(unit, "samples") == 0;

	if (parser->declared->no_losses)
		return "no line lost, because the header declares no-losses";
	event->observed = &parser->observed;
	event->type = samples ? JP_EVENT_LOST_SAMPLES : JP_EVENT_LOST;
	if ((!samples && (!unit || strcmp(unit, "records") != 0)) ||
	    !parse_number(&line, UINT64_MAX, &event->lost.lost) || *line)
		return "samples or records, and how many";
	parser->observed.nr_names = 0;
	return NULL;
}

const char *jp_observation_parse(struct jp_observation_line *parser, char *line)
{
	static const char expected[] =
		"sample, map, fork, exec, exit, comm or lost, or a line of the header before those";
	const bool is_timed = !(parser->declared->lacking & JP_LACKS_TIME);
	struct jp_event *event = &parser->event;
	const char *kind = jp_word_split(&line);
	uint64_t value = 0;

	if (!kind)
		return expected;
	if (!parse_number(&line, UINT64_MAX, &value))
		return is_timed ? "a time in ns" : "a count";
	*event = (struct jp_event){.asked = &parser->request};
	event->time = event->before = is_timed ? value : 0;
	parser->observed =
		(struct jp_observed){.names = parser->names, .weight = is_timed ? 1 : value};
	if (strcmp(kind, "sample") == 0)
		return parse_sample(parser, line);
	if (strcmp(kind, "lost") == 0)
		return parse_lost(parser, line);
	if (strcmp(kind, "map") == 0)
		return parse_map(parser, line);
	if (parser->declared->lacking & JP_LACKS_TASKS && strstr(" comm exec fork exit ", kind))
		return "none of comm, exec, fork, exit: the header declares no-tasks or no-time";
	if (strcmp(kind, "comm") == 0 || strcmp(kind, "exec") == 0)
		return parse_comm(parser, line, *kind == 'e');
	if (strcmp(kind, "fork") == 0 || strcmp(kind, "exit") == 0)
		return parse_task(parser, line, *kind == 'f');
	return expected;
}
