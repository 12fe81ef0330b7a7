/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Returns the length of the well-formed UTF-8 sequence at @s (NUL-terminated), or 0. */
unsigned int jp_utf8_length(const unsigned char *s);
/* Returns the code point of the well-formed UTF-8 sequence at @s of @length bytes. */
uint32_t jp_utf8_code(const unsigned char *s, unsigned int length);
