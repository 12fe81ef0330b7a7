// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/methods.h"

#include <string.h>

static const struct {
	const char *name, *text;
	enum jp_method root;
} methods[JP_METHODS] = {
	[JP_CHAIN] = {"chain", "the kernel's callchain", JP_CHAIN},
	[JP_DUMP] = {"dump", "our unwinding of the stack dump", JP_DUMP},
	[JP_DUMP_FP] = {"dump_fp", "the stack dump by frame pointers alone", JP_CHAIN},
	[JP_DUMP_CFI] = {"dump_cfi", "the stack dump by call frame information alone", JP_DUMP},
};

const char *jp_method_name(enum jp_method method)
{
	return methods[method].name;
}

const char *jp_method_text(enum jp_method method)
{
	return methods[method].text;
}

enum jp_method jp_method_root(enum jp_method method)
{
	return methods[method].root;
}

uint32_t jp_methods_parse(const char *list)
{
	uint32_t mask = 0;

	for (;;) {
		size_t length = strcspn(list, ",");
		int method = 0;

		while (method < JP_METHODS && (strlen(methods[method].name) != length ||
					       strncmp(methods[method].name, list, length) != 0))
			method++;
		if (method == JP_METHODS || mask >> method & 1)
			return 0;
		mask |= UINT32_C(1) << method;
		if (!list[length])
			return mask;
		list += length + 1;
	}
}
