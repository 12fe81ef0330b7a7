/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Length of the well-formed UTF-8 sequence at @s (NUL-terminated), 0 where there is none. */
unsigned int jp_utf8_length(const unsigned char *s);
/* The character that such a sequence stands for. */
uint32_t jp_utf8_code(const unsigned char *s, unsigned int length);
