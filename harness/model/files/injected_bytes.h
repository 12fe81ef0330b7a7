/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/format/event.h"
#include "harness/format/jit/code_loads.h"
#include "harness/model/files/file_finder.h"

/* Compares the ELF file that inject made, which @record maps, with the jitdump's code @load.
 * Returns the first difference: "other-machine" (e_machine is not @e_machine), "other-bytes" or
 * "other-tables". Returns NULL if there is none or the file is missing; the validator of names
 * reports a missing file. */
const char *jp_injected_bytes_compare(struct jp_file_finder *finder, const struct jp_event *record,
				      const struct jp_code_load *load, uint32_t e_machine);
