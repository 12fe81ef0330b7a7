// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/shortage.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static atomic_int noted;

void jp_shortage_begin(void)
{
	atomic_store(&noted, 0);
}

void jp_shortage_note(int error)
{
	static const int shortages[] = {ENOMEM, EMFILE, ENFILE, ENOBUFS, EIO};
	int none = 0;

	for (size_t i = 0; i < sizeof(shortages) / sizeof(*shortages); i++)
		if (error == shortages[i])
			atomic_compare_exchange_strong(&noted, &none, error);
}

int jp_shortage(char *text, size_t size)
{
	int error = atomic_load(&noted);

	if (error)
		snprintf(text, size,
			 "this process was short of something (%s): what it found is not to be "
			 "believed",
			 strerror(error));
	return -error;
}

/* The linker gives us what the program calls (--wrap); nobody need ask at each call. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

static void *given(void *memory)
{
	if (!memory)
		jp_shortage_note(ENOMEM);
	return memory;
}

void *__wrap_malloc(size_t size)
{
	return given(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return given(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	return given(__real_realloc(old, size));
}

char *__wrap_strdup(const char *text)
{
	return given(__real_strdup(text));
}
