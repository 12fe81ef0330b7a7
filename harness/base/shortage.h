/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Shortages of this process: memory, descriptors, disk space, disk errors. Much code treats what it
 * cannot open as missing, which is right for a missing file and wrong for a shortage. So each
 * shortage is noted where it occurs (malloc() and similar, jp_fail(), reads, errors of the ELF
 * library), and code that reports findings must ask first: after a shortage no finding is valid.
 * There is one note for the process, for all threads.
 */

/* Returns whether @error, of errno, is a shortage rather than a missing thing. */
bool jp_is_shortage(int error);
/* Forgets noted shortages, before new work. */
void jp_shortage_begin(void);
/* Notes @error, of errno, if it is a shortage. */
void jp_shortage_note(int error);
/* Returns 0, or -errno of the first noted shortage with a sentence in @text, as in struct
 * jp_error. */
int jp_shortage(char *text, size_t size);
/* Closes a stream into memory. Returns 0, or -ENOMEM if memory ran out: *@text is then incomplete
 * or NULL. */
int jp_shortage_close(FILE *memory, char *const *text);
