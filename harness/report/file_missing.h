/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/unwind/elf_store.h"
#include "harness/report/file_report.h"

/* Returns the list of ELF files that are missing, so that stacks ended in their code, most frequent
 * first. Stores its length in *@count. The caller frees the list. Returns NULL if out of memory. */
const struct jp_elf_entry **jp_file_list_missing(const struct jp_file_report *report,
						 size_t *count);
