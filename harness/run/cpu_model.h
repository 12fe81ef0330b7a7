/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Stores the name of this machine's first processor in @text of @size bytes. Returns false if it is
 * unknown. */
bool jp_cpu_model(char *text, size_t size);
