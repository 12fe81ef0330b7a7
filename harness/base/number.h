/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Numbers in text. No blank, no sign, and no locale: each starts with a digit. False where none is
 * there or it is out of range; then nothing was changed. errno stays as it is.
 */

/* @text is one decimal number of [@min, @max] and nothing else. */
bool jp_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/*
 * The number that @text begins with, at most @max; *@text then points behind it. @base as in
 * strtoull(): 10, 16 (0x may stand before it), 0 (0x: hexadecimal, 0: octal).
 */
bool jp_number_take(const char **text, int base, uint64_t max, uint64_t *value);
/* The same for a finite number that may have a fraction and an exponent. */
bool jp_number_take_real(const char **text, double *value);
