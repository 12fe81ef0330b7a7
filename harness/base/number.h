/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Parsers of numbers in text, which must start with a digit: no blanks, no sign, no locale. If
 * there is no number or it is out of range, they return false and change nothing. They preserve
 * errno. */

/* Parses @text, which must be one decimal number in [@min, @max]. */
bool jp_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* Parses the number at the beginning of *@text, at most @max, and moves *@text past it. @base as in
 * strtoull(): 10, 16 (0x may precede), 0 (0x: hexadecimal, 0: octal). */
bool jp_number_take(const char **text, int base, uint64_t max, uint64_t *value);
/* Parses a finite number that may have a fraction and an exponent. */
bool jp_number_take_real(const char **text, double *value);
