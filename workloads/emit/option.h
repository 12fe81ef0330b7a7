/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_WORKLOADS_OPTION_H
#define JP_WORKLOADS_OPTION_H

#include <stdbool.h>

/* A workload's options: one of these forms each. A table of them ends with an empty one. */
struct jp_option {
	const char *name;  /* "--once"; with a value "--life=" */
	bool *flag;        /* it is there */
	const char **text; /* any but the empty one */
	unsigned *number; /* from @least to @most, or the index of one of @words (ends with NULL) */
	unsigned least, most; /* most 0: any */
	const char *const *words;
	/* Without a name: 1 it took @arg, 0 that is none of its, < 0: bad value, said on stderr. */
	int (*take)(void *context, const char *arg);
	void *context;
	const char *help; /* lines "  --x=...  what"; NULL: another row has them */
};

/* False: the empty one at a table's end. */
static inline bool jp_option_is(const struct jp_option *option)
{
	return option->name || option->take;
}

/* Whether @options have @arg, as above. */
int jp_option_take(const struct jp_option *options, const char *arg);
/* All of @argv. 0, or the exit status after a word on stderr. @options NULL: there are none. */
int jp_options(int argc, char **argv, const struct jp_option *options);

#endif
