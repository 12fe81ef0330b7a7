/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/format/truth/format.h"

/* Returns the method's name, which is the last part of its metrics' names. */
const char *jp_method_name(enum jp_method method);
/* Returns a short description. */
const char *jp_method_text(enum jp_method method);
/* Returns whether the method finds the native frames of the truth like JP_CHAIN or like JP_DUMP. */
enum jp_method jp_method_root(enum jp_method method);

/* Mask of the methods that are used if a case selects none. */
#define JP_METHODS_USUAL (UINT32_C(1) << JP_CHAIN | UINT32_C(1) << JP_DUMP)
/* Parses a list like "chain,dump_fp" to a mask. Returns 0 if a method is unknown or repeated. */
uint32_t jp_methods_parse(const char *list);
