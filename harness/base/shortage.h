/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Shortages of this process: memory, descriptors, disk space, disk errors. Much code treats a file
 * that it cannot open as missing, which is wrong if the reason is a shortage. So each shortage is
 * noted where it occurs (malloc() and similar, jp_fail(), reads, errors of the ELF library), and
 * code that reports findings must ask first: after a shortage no finding is valid. All threads of
 * the process share one note.
 */

/* Returns whether @error, a value of errno, means a shortage. */
bool jp_is_shortage(int error);
/* Forgets noted shortages. Call this before new work. */
void jp_shortage_begin(void);
/* Notes @error, a value of errno, if it means a shortage. */
void jp_shortage_note(int error);
/* Returns 0, or -errno of the first noted shortage with a sentence in @text, as in struct
 * jp_error. */
int jp_shortage_describe(char *text, size_t size);
/* Closes @memory, a stream of open_memstream() with the buffer *@text. Returns 0, or -ENOMEM if
 * memory ran out: *@text is then incomplete or NULL. */
int jp_shortage_close(FILE *memory, char *const *text);
