// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/code.h"

#include <stddef.h>

uint64_t jp_code_frame;

extern const char jp_code_outer_end[], jp_code_middle_end[], jp_code_middle_plain_end[],
	jp_code_plain_end[], jp_code_endbr_end[], jp_code_nop5_end[], jp_code_nop10_end[],
	jp_code_odd_end[], jp_code_trap_end[], jp_code_deep_end[];

const char *jp_code_name(uint64_t addr)
{
	const struct {
		const char *name;
		const void *start;
		const char *end;
	} functions[] = {
		{"outer", (const void *)jp_code_outer, jp_code_outer_end},
		{"middle", (const void *)jp_code_middle, jp_code_middle_end},
		{"middle", (const void *)jp_code_middle_plain, jp_code_middle_plain_end},
		{"leaf", (const void *)jp_code_leaf, jp_code_leaf_end},
		{"leaf", (const void *)jp_code_plain, jp_code_plain_end},
		{"leaf", (const void *)jp_code_endbr, jp_code_endbr_end},
		{"leaf", (const void *)jp_code_nop5, jp_code_nop5_end},
		{"leaf", (const void *)jp_code_nop10, jp_code_nop10_end},
		{"leaf", (const void *)jp_code_odd, jp_code_odd_end},
		{"trap", (const void *)jp_code_trap, jp_code_trap_end},
		{"deep", (const void *)jp_code_deep, jp_code_deep_end},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (addr >= (uint64_t)(uintptr_t)functions[i].start &&
		    addr < (uint64_t)(uintptr_t)functions[i].end)
			return functions[i].name;
	return NULL;
}
