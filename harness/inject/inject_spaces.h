/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/event.h"

/*
 * Address spaces of the processes with jitdumps, as the records so far describe them: the code that
 * is loaded now (living code), and the mappings. A child begins with a copy of its parent's space;
 * exec clears it; a later record replaces earlier ones in its range. No record reports munmap: code
 * lives until it moves, or until a record maps something other than anonymous memory over it.
 *
 * No record shows that processes share memory (CLONE_VM without CLONE_THREAD), so each process has
 * its own space, as in perf.
 */
struct jp_inject_spaces;
struct jp_inject_spaces *jp_inject_spaces_new(void);
void jp_inject_spaces_free(struct jp_inject_spaces *spaces);

/* Declares that @pid will have code, so that its mapping records are kept from now on. Returns 0 or
 * -ENOMEM. */
int jp_inject_spaces_want(struct jp_inject_spaces *spaces, uint32_t pid);
/* Adds living code at [@addr, @addr + @size) of @pid if @exists, else removes it. Returns 0 or
 * -ENOMEM. */
int jp_inject_spaces_code(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			  uint64_t size, bool exists);
/* Applies a FORK, or a COMM of an exec; ignores other events. Returns 0 or -ENOMEM. */
int jp_inject_spaces_task(struct jp_inject_spaces *spaces, const struct jp_event *event);

/* Returns whether the mapping record @event is of anonymous memory, on any backing. */
bool jp_inject_is_anonymous(const struct jp_event *event);
/* Returns whether [@addr, @addr + @size) of @pid overlaps living code. */
bool jp_inject_spaces_alive(struct jp_inject_spaces *spaces, uint32_t pid, uint64_t addr,
			    uint64_t size);
/* Applies the mapping record @event. @yields: an anonymous record leaves living code in its range
 * in place. Returns 0 or -ENOMEM. */
int jp_inject_spaces_map(struct jp_inject_spaces *spaces, const struct jp_event *event,
			 bool yields);
/* A piece of an anonymous mapping record: no living code is in it, and the space has no earlier
 * record of the same mapping for it. All zero before the first piece. */
struct jp_inject_piece {
	uint64_t start, end;
	uint32_t mapping; /* private */
};
/* Stores the next piece of @event, in order of addresses. Call it before jp_inject_spaces_map() of
 * @event. Returns 1, 0 after the last piece, or -ENOMEM. */
int jp_inject_spaces_piece(struct jp_inject_spaces *spaces, const struct jp_event *event,
			   struct jp_inject_piece *piece);
