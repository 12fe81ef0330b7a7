/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/unwind/elf_store.h"
#include "harness/report/file_report.h"

/* Returns the missing ELF files at which stacks ended, most frequent first; the caller frees the
 * list. NULL: out of memory. */
const struct jp_elf_entry **jp_file_missing(const struct jp_file_report *report, size_t *count);
