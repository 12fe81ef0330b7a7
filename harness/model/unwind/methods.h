/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "harness/format/truth/format.h"

/* The method's name: the last part of its metrics' names. */
const char *jp_method_name(enum jp_method method);
/* A short description. */
const char *jp_method_text(enum jp_method method);
/* How it walks native frames: JP_CHAIN or JP_DUMP, which the truth holds. */
enum jp_method jp_method_root(enum jp_method method);

/* The methods of a case that names none: a bit each. */
#define JP_METHODS_USUAL (UINT32_C(1) << JP_CHAIN | UINT32_C(1) << JP_DUMP)
/* "chain,dump_fp" as bits; 0 where one is unknown, or named twice. */
uint32_t jp_methods_parse(const char *list);
