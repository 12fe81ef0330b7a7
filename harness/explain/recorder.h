/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/format/elf/elf_symbols.h"
#include "harness/format/perfdata/summary.h"

/* Returns whether the recorder was perf of @version or later, a JP_PERF_VERSION(), or was not perf.
 * People read a recording with the perf that made it. */
bool jp_recorder_since(const struct jp_perfdata_summary *summary, uint32_t version);
/* Returns whether perf with the version of @summary applies call frame information of other code to
 * the text of a file with @tables. */
bool jp_recorder_misplaces(const struct jp_perfdata_summary *summary,
			   const struct jp_elf_tables *tables);
/* Returns whether the recorder is a perf that walks stack dumps with libunwind. */
bool jp_recorder_uses_libunwind(const struct jp_perfdata_summary *summary);
/* Returns whether perf inject --jit wrote the file: it leaves out the records with which perf
 * record ends each round. */
bool jp_recorder_is_inject(const struct jp_perfdata_summary *summary);
