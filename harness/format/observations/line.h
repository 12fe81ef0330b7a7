/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/format/event.h"
#include "harness/format/observations/declared.h"
#include "harness/format/procmaps/procmaps.h"

/* Private to harness/format/observations/: one line of a stream as an event. */

enum { JP_OBSERVATION_FRAMES = 4096 };

/* Where a line's event keeps what it points to; it dies with the next line. */
struct jp_observation_line {
	const struct jp_declared *declared;
	struct jp_event_asked asked;
	struct jp_event event;
	struct jp_observed observed;
	uint64_t chain[1 + JP_OBSERVATION_FRAMES];
	const char *names[JP_OBSERVATION_FRAMES];
	struct jp_procmap *map;
	char expected[160];
};

/* Whether @line, of @size bytes, is of the header. */
bool jp_observation_is_header(const char *line, size_t size);
/* The time of @line; false: none is where one must be. 0 where the stream has none. */
bool jp_observation_time(const struct jp_declared *declared, const char *line, size_t size,
			 uint64_t *time);
/* Once @parser->declared is set. */
void jp_observation_begin(struct jp_observation_line *parser);
/* Fills @parser->event from @line, which is changed: without its newline, NUL at its end. NULL, or
 * what was expected. */
const char *jp_observation_parse(struct jp_observation_line *parser, char *line);
void jp_observation_end(struct jp_observation_line *parser);
