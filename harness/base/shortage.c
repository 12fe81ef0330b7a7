// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/shortage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int noted;

void jp_shortage_begin(void)
{
	atomic_store(&noted, 0);
}

bool jp_is_shortage(int error)
{
	static const int shortages[] = {ENOMEM, EMFILE, ENFILE, ENOBUFS, EIO};

	for (size_t i = 0; i < sizeof(shortages) / sizeof(*shortages); i++)
		if (error == shortages[i])
			return true;
	return false;
}

void jp_shortage_note(int error)
{
	int no_error = 0;

	if (jp_is_shortage(error))
		atomic_compare_exchange_strong(&noted, &no_error, error);
}

int jp_shortage_describe(char *text, size_t size)
{
	int error = atomic_load(&noted);

	if (error)
		snprintf(text, size,
			 "this process ran out of a resource (%s), so its results are not valid%s",
			 strerror(error),
			 error == EMFILE ? "; `ulimit -n` raises the limit of descriptors" : "");
	return -error;
}

int jp_shortage_close(FILE *memory, char *const *text)
{
	/* fclose() reallocates the buffer to the written size, and reports no error if that fails
	 * (glibc's _IO_mem_finish()). */
	if (!fclose(memory) && *text)
		return 0;
	jp_shortage_note(ENOMEM);
	return -ENOMEM;
}

/* The linker redirects calls of malloc() and similar to the functions below (--wrap in the
 * Makefile), which note shortages; __real_malloc() is the original. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
int __real_vasprintf(char **text, const char *format, va_list more);
char *__real_realpath(const char *path, char *path_out);
FILE *__real_open_memstream(char **text, size_t *size);
DIR *__real_fdopendir(int fd);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__real_fdopen(int fd, const char *mode);
DIR *__real_opendir(const char *path);
int __real_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *path, int flags, ...);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);
int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_vasprintf(char **text, const char *format, va_list ap);
char *__wrap_realpath(const char *path, char *path_out);
FILE *__wrap_open_memstream(char **text, size_t *size);
DIR *__wrap_fdopendir(int fd);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);
DIR *__wrap_opendir(const char *path);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);

static void *note_failed_allocation(void *memory)
{
	if (!memory)
		jp_shortage_note(errno);
	return memory;
}

void *__wrap_malloc(size_t size)
{
	return note_failed_allocation(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return note_failed_allocation(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	return note_failed_allocation(__real_realloc(old, size));
}

char *__wrap_strdup(const char *text)
{
	return note_failed_allocation(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t max)
{
	return note_failed_allocation(__real_strndup(text, max));
}

int __wrap_vasprintf(char **text, const char *format, va_list ap)
{
	int length = __real_vasprintf(text, format, ap);

	if (length < 0)
		jp_shortage_note(ENOMEM);
	return length;
}

int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list ap;
	int length;

	va_start(ap, format);
	length = __wrap_vasprintf(text, format, ap);
	va_end(ap);
	return length;
}

char *__wrap_realpath(const char *path, char *path_out)
{
	return note_failed_allocation(__real_realpath(path, path_out));
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
	return note_failed_allocation(__real_open_memstream(text, size));
}

DIR *__wrap_fdopendir(int fd)
{
	return note_failed_allocation(__real_fdopendir(fd));
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	return note_failed_allocation(__real_fopen(path, mode));
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
	return note_failed_allocation(__real_fdopen(fd, mode));
}

DIR *__wrap_opendir(const char *path)
{
	return note_failed_allocation(__real_opendir(path));
}

static int note_failed_open(int fd)
{
	if (fd < 0)
		jp_shortage_note(errno);
	return fd;
}

/* The caller passed a mode only if the call may create a file. */
static int get_mode(int flags, va_list ap)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, int) : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = get_mode(flags, ap);
	va_end(ap);
	return note_failed_open(__real_open(path, flags, mode));
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = get_mode(flags, ap);
	va_end(ap);
	return note_failed_open(__real_openat(dir, path, flags, mode));
}
