// SPDX-License-Identifier: GPL-2.0-only
#include "harness/explain/recorder.h"

#include <ctype.h>

#include "harness/base/number.h"

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

bool jp_recorder_uses_libunwind(const struct jp_perfdata_summary *summary)
{
	return isdigit((unsigned char)*summary->version) &&
	       !jp_recorder_since(summary, JP_PERF_VERSION(7, 0));
}

bool jp_recorder_misplaces(const struct jp_perfdata_summary *summary,
			   const struct jp_elf_tables *tables)
{
	if (!isdigit((unsigned char)*summary->version))
		return false;
	/* __report_module() in tools/perf/util/unwind-libdw.c takes the text's address minus its
	 * file offset for the address of the first segment. */
	if (jp_recorder_since(summary, JP_PERF_VERSION(7, 0)))
		return tables->text_moved;
	/* Commit dc2cf4ca866f ("perf unwind: Fix segbase for ld.lld linked objects"): before,
	 * perf with libunwind took that for the address of .eh_frame_hdr's segment. */
	return tables->index_moved && !jp_recorder_since(summary, JP_PERF_VERSION(6, 0));
}

bool jp_recorder_is_inject(const struct jp_perfdata_summary *summary)
{
	return isdigit((unsigned char)*summary->version) && !summary->rounds && !summary->in_parts;
}
