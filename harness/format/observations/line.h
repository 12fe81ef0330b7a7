/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/observations/declared.h"
#include "harness/format/procmaps/procmaps.h"

/* Private to harness/format/observations/: parses one line of a stream into an event. */

enum { JP_OBSERVATION_FRAMES = 4096 };

/* Parser of lines. Contains the event of the last line and the memory that the event points to,
 * valid until the next line is parsed. */
struct jp_observation_line {
	const struct jp_declared *declared;
	struct jp_event_asked request;
	struct jp_event event;
	struct jp_observed observed;
	uint64_t chain[1 + JP_OBSERVATION_FRAMES];
	const char *names[JP_OBSERVATION_FRAMES];
	struct jp_procmap *map;
	char expected[160];
};

/* Returns whether @line, of @size bytes, belongs to the header. */
bool jp_observation_is_header(const char *line, size_t size);
/* Stores the time of @line in *@time, 0 if the stream has no times. Returns false if a time is
 * missing or malformed. */
bool jp_observation_time(const struct jp_declared *declared, const char *line, size_t size,
			 uint64_t *time);
/* Prepares @parser, whose @declared the caller has set. */
void jp_observation_begin(struct jp_observation_line *parser);
/* Parses @line, without its newline and with a NUL at the end, into @parser->event. Overwrites
 * parts of @line. Returns NULL, or what was expected. */
const char *jp_observation_parse(struct jp_observation_line *parser, char *line);
void jp_observation_end(struct jp_observation_line *parser);
