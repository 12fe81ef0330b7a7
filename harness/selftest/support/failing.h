/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Replaces library calls of the including test program: the Nth call of one kind since
 * failing_begin() fails. Calls by libraries count too. Does not work with
 * AddressSanitizer, which has its own allocator.
 *
 * A counting run stores the number of the first call from each chain of callers, found by frame
 * pointers. Libraries may use the frame pointer register for other data: the walk stops at an
 * address outside of the stack.
 */
enum failing_kind {
	FAILING_NONE,
	FAILING_MEMORY, /* malloc(), calloc(), realloc() */
	FAILING_READ,   /* read(), pread() */
	FAILING_SIGNAL, /* read(), pread(): EINTR, and the next call succeeds */
	FAILING_WRITE,
	FAILING_STATUS, /* fstat() */
	FAILING_MAP,    /* mmap() */
	FAILING_KINDS
};
enum { FAILING_PLACES = 1 << 12, FAILING_CALLERS = 8 };
static struct {
	enum failing_kind kind;
	unsigned long nth, nr_allocations;
	long live; /* allocations not yet freed */
	uintptr_t stack_top;
	uint64_t places[FAILING_PLACES]; /* hash table of caller chains; 0: free slot */
	unsigned long first[FAILING_PLACES / 2], nr_first;
} failing;

/* Makes the @nth call of @kind fail, or only counts the calls if @nth is 0. */
static void failing_begin(enum failing_kind kind, unsigned long nth)
{
	failing.kind = kind;
	failing.nth = nth;
	failing.nr_allocations = 0;
	failing.stack_top = (uintptr_t)__builtin_frame_address(0);
	if (nth)
		return;
	memset(failing.places, 0, sizeof(failing.places));
	failing.nr_first = 0;
}

static uint64_t hash_callers(const uintptr_t *frame)
{
	uint64_t hash = 1;

	for (int i = 0; i < FAILING_CALLERS && (uintptr_t)frame < failing.stack_top; i++) {
		const uintptr_t *caller = (const uintptr_t *)frame[0];

		hash = (hash ^ frame[1]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
		if (caller <= frame || (uintptr_t)caller % sizeof(*caller))
			break;
		frame = caller;
	}
	return hash ?: 1;
}

static void store_first_call(uint64_t place)
{
	size_t i = place % FAILING_PLACES;

	while (failing.places[i] && failing.places[i] != place)
		i = (i + 1) % FAILING_PLACES;
	if (failing.places[i] || failing.nr_first == FAILING_PLACES / 2)
		return;
	failing.places[i] = place;
	failing.first[failing.nr_first++] = failing.nr_allocations;
}

/* Stops failing. Returns the number of calls since failing_begin(). */
static unsigned long failing_end(void)
{
	failing.kind = FAILING_NONE;
	return failing.nr_allocations;
}

static __attribute__((always_inline)) inline bool fail_call(enum failing_kind kind, int error)
{
	if (failing.kind != kind)
		return false;
	failing.nr_allocations++;
	if (!failing.nth)
		store_first_call(hash_callers(__builtin_frame_address(0)));
	if (failing.nr_allocations != failing.nth)
		return false;
	errno = error;
	return true;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

static void *count_allocation(void *memory)
{
	failing.live += memory != NULL;
	return memory;
}

void *malloc(size_t size)
{
	return fail_call(FAILING_MEMORY, ENOMEM) ? NULL : count_allocation(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return fail_call(FAILING_MEMORY, ENOMEM) ? NULL
						 : count_allocation(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
	void *memory;

	if (fail_call(FAILING_MEMORY, ENOMEM))
		return NULL;
	memory = __libc_realloc(old, size);
	return old ? memory : count_allocation(memory);
}

void free(void *old)
{
	failing.live -= old != NULL;
	__libc_free(old);
}

static __attribute__((always_inline)) inline bool fail_read(void)
{
	return fail_call(FAILING_READ, EIO) || fail_call(FAILING_SIGNAL, EINTR);
}

ssize_t read(int fd, void *buffer, size_t size)
{
	return fail_read() ? -1 : syscall(SYS_read, fd, buffer, size);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
	return fail_read() ? -1 : syscall(SYS_pread64, fd, buffer, size, offset);
}

ssize_t write(int fd, const void *from, size_t size)
{
	return fail_call(FAILING_WRITE, ENOSPC) ? -1 : syscall(SYS_write, fd, from, size);
}

int fstat(int fd, struct stat *status)
{
	return fail_call(FAILING_STATUS, ENOMEM)
		       ? -1
		       : (int)syscall(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH);
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return fail_call(FAILING_MAP, ENOMEM)
		       ? MAP_FAILED
		       : (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);
}
