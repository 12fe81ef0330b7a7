/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "harness/model/unwind/elf_store.h"
#include "harness/report/file_report.h"

/* The ELF files for want of which stacks ended, the worst first; to be freed. NULL: no memory. */
const struct jp_elf_entry **jp_file_missing(const struct jp_file_report *report, size_t *count);
