/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A command line that grows, as exec takes it; all zero to start with. */
struct jp_arguments {
	char **list; /* NULL-terminated once there is one */
	size_t count, capacity;
	bool failed; /* no memory: some are missing */
};

void jp_arguments_add(struct jp_arguments *arguments, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Copies of all in @list, up to its NULL; @list may be NULL. */
void jp_arguments_add_all(struct jp_arguments *arguments, char *const *list);
void jp_arguments_free(struct jp_arguments *arguments);

#define jp_cleanup_arguments __attribute__((cleanup(jp_arguments_free)))
