// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/recorder.h"

#include <ctype.h>

#include "harness/base/number.h"
#include "harness/format/elf/elf_symbols.h"

bool jp_recorder_since(const struct jp_perfdata_summary *summary, uint32_t version)
{
	const char *text = summary->version;
	uint64_t major, minor = 0;

	if (!jp_number_take(&text, 10, UINT8_MAX, &major))
		return true;
	if (*text == '.')
		text++;
	jp_number_take(&text, 10, UINT8_MAX, &minor);
	return JP_PERF_VERSION(major, minor) >= version;
}

bool jp_recorder_is_inject(const struct jp_perfdata_summary *summary)
{
	return isdigit((unsigned char)*summary->version) && !summary->rounds && !summary->in_parts;
}
