/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Puts what this machine's first processor is called into @text of @size bytes; false where nobody
 * tells. */
bool jp_cpu_model(char *text, size_t size);
