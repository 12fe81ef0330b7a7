/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Returns the length of the well-formed UTF-8 sequence at @s (NUL-terminated), or 0. */
unsigned int jp_utf8_length(const unsigned char *s);
/* Returns the code point of the well-formed UTF-8 sequence at @s of @length bytes. */
uint32_t jp_utf8_code(const unsigned char *s, unsigned int length);

/* Untrusted texts, such as names, are printed without anything that a terminal obeys or that looks
 * like a line end: control characters (also U+0080 to U+009F), changes of text direction, line
 * separators, and bytes that are not UTF-8. */

/* Returns the length in bytes of the character at @s, which must not be the final NUL; 0 if the
 * character must not be printed. */
unsigned int jp_printable_length(const char *s);
/* Prints @text up to the first byte that must not be printed. Returns that byte's position, or the
 * end. */
const char *jp_printable_put_prefix(FILE *out, const char *text);
/* Prints @text with '?' for each byte that must not be printed, line feeds included. */
void jp_printable_put(FILE *out, const char *text);
/* Replaces each byte that must not be printed by '?' in place, except line feeds. Returns @text. */
char *jp_printable(char *text);
