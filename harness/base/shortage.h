/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * What this process itself was short of: memory, descriptors, a disk that reads or has room. Much
 * code takes what cannot be had for what is not there, which is right for a missing file and wrong
 * for a shortage: so each is noted here where it comes up (malloc() and its like, jp_fail(), reads,
 * the ELF library's errors), and whoever says what was found asks before: nothing is to be believed
 * then. One for the process, whatever thread it came up in.
 */

/* Whether @error, of errno, says that something is short, and not that it is not there. */
bool jp_is_shortage(int error);
/* What was noted is forgotten: something new begins. */
void jp_shortage_begin(void);
/* @error is of errno; nothing is noted where it is no shortage. */
void jp_shortage_note(int error);
/* 0, or -errno of the first that was noted and a sentence in @text, as of a struct jp_error. */
int jp_shortage(char *text, size_t size);
/* Closes a stream into memory, whose @text is cut short, or NULL, where there was none left: 0 or
 * -ENOMEM. */
int jp_shortage_close(FILE *memory, char *const *text);
