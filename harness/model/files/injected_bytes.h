/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

#include "harness/format/event.h"
#include "harness/format/jit/code_loads.h"
#include "harness/model/files/file_finder.h"

/* What the file that @record leads to has otherwise than @load, which it tells of: "other-machine"
 * than @e_machine, "other-bytes", "other-tables"; NULL: nothing, or there is no such file, which
 * names tell. */
const char *jp_injected_bytes_wrong(struct jp_file_finder *finder, const struct jp_event *record,
				    const struct jp_code_load *load, uint32_t e_machine);
