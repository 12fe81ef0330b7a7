/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/event.h"

/*
 * What lies where in the processes that jitdumps speak of, as the records so far have it: code that
 * was loaded and still lives, and the mapping records over the rest. The rules: a child begins with
 * a copy of its parent's, exec leaves nothing, a later record wins. munmap is in no capture: code
 * lives until something else than anonymous memory is recorded in its place, or it moves.
 *
 * Not known from any record, so not done: that two processes share their memory (CLONE_VM without
 * CLONE_THREAD). Each has its own space then, as perf has it.
 */
struct jp_inject_spaces;
struct jp_inject_spaces *jp_inject_spaces_new(void);
void jp_inject_spaces_free(struct jp_inject_spaces *spaces);

/* Code will come to @pid: its mapping records are worth following. 0 or -ENOMEM. */
int jp_inject_spaces_want(struct jp_inject_spaces *spaces, uint32_t pid);
/* Code lies at [@addr, @addr + @size) from now on; or no longer. */
int jp_inject_spaces_code(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			  uint64_t size, bool there);
/* FORK and COMM of exec; others are ignored. 0 or -ENOMEM. */
int jp_inject_spaces_task(struct jp_inject_spaces *spaces, const struct jp_event *event);

/* Whether the mapping record @event is of anonymous memory, on any backing. */
bool jp_inject_anonymous(const struct jp_event *event);
/* Whether [@addr, @addr + @size) of @pid has living code in it. */
bool jp_inject_spaces_alive(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			    uint64_t size);
/* The record is in force, but where living code is if it is anonymous and @yields. 0 or -ENOMEM. */
int jp_inject_spaces_map(struct jp_inject_spaces *spaces, const struct jp_event *event,
			 bool yields);
/* A piece of an anonymous record that changes something: without living code, and not covered
 * already by a record of the very same mapping. All zero before the first. */
struct jp_inject_piece {
	uint64_t start, end;
	uint32_t mapping; /* private */
};
/* The next one of @event, which covers living code, in the order of addresses; to be asked before
 * jp_inject_spaces_map(). 1; 0: no more; -ENOMEM. */
int jp_inject_spaces_piece(struct jp_inject_spaces *spaces, const struct jp_event *event,
			   struct jp_inject_piece *piece);
