// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into a program: makes the Nth call of one kind (FAULT_KIND, FAULT_N) fail. If
 * FAULT_SITES names a file, no call fails; instead the file gets a hash of the call stack of each
 * call. Forked children share the count; executed programs run without this library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 1 << 20, DEPTH = 10 };

static const char *kind, *sites_path;
static long which;
static pid_t owner;
static struct {
	atomic_long calls;
	uint64_t sites[MOST]; /* filled only if FAULT_SITES is set; untouched pages use no memory */
} * shared;

/* glibc's own functions: dlsym() itself allocates, so it cannot be used to find them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static __attribute__((constructor)) void begin(void)
{
	const char *number = getenv("FAULT_N");

	void *frames[DEPTH];

	kind = getenv("FAULT_KIND");
	sites_path = getenv("FAULT_SITES");
	which = number ? atol(number) : 0;
	owner = getpid();
	unsetenv("LD_PRELOAD");
	backtrace(frames, DEPTH); /* the first call loads a library */
	shared = (void *)syscall(SYS_mmap, NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared == MAP_FAILED)
		abort();
}

static __attribute__((destructor)) void end(void)
{
	size_t size;
	int fd;

	if (!sites_path || getpid() != owner)
		return;
	size = (size_t)atomic_load(&shared->calls) * sizeof(*shared->sites);
	fd = (int)syscall(SYS_openat, AT_FDCWD, sites_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || syscall(SYS_write, fd, shared->sites, size) != (long)size)
		abort();
}

static uint64_t hash_callers(void)
{
	void *frames[DEPTH];
	const int count = backtrace(frames, DEPTH);
	uint64_t sum = 0;

	for (int i = 0; i < count; i++)
		sum = (sum ^ (uintptr_t)frames[i]) * 0x9e3779b97f4a7c15;
	return sum;
}

/* Returns whether this call of @call_name must fail. If so, sets errno to @error. */
static int must_fail(const char *call_name, int error)
{
	long nth;

	if (!shared || !kind || strcmp(kind, call_name))
		return 0;
	nth = atomic_fetch_add(&shared->calls, 1);
	if (sites_path && nth < MOST)
		shared->sites[nth] = hash_callers();
	if (nth + 1 != which)
		return 0;
	errno = error;
	return 1;
}

void *malloc(size_t size)
{
	return must_fail("alloc", ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return must_fail("alloc", ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return must_fail("alloc", ENOMEM) ? NULL : __libc_realloc(old, size);
}

static int open_as(int dir, const char *path, int flags, va_list ap)
{
	int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;

	return must_fail("open", EMFILE) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = open_as(AT_FDCWD, path, flags, ap);
	va_end(ap);
	return fd;
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = open_as(dir, path, flags, ap);
	va_end(ap);
	return fd;
}

ssize_t read(int fd, void *buffer, size_t size)
{
	return must_fail("read", EIO) ? -1 : syscall(SYS_read, fd, buffer, size);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
	return must_fail("read", EIO) ? -1 : syscall(SYS_pread64, fd, buffer, size, offset);
}

ssize_t pread64(int fd, void *buffer, size_t size, off_t offset)
{
	return must_fail("read", EIO) ? -1 : syscall(SYS_pread64, fd, buffer, size, offset);
}

ssize_t write(int fd, const void *from, size_t size)
{
	return must_fail("write", ENOSPC) ? -1 : syscall(SYS_write, fd, from, size);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset)
{
	return must_fail("write", ENOSPC) ? -1 : syscall(SYS_pwrite64, fd, from, size, offset);
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (must_fail("mmap", ENOMEM))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	return must_fail("fork", EAGAIN) ? -1 : real();
}

/* glibc has no wrappers for perf_event_open() and similar calls. */
long syscall(long number, ...)
{
	static long (*real_syscall)(long number, ...);
	long args[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	if (!real_syscall)
		real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_perf_event_open && must_fail("perf_event_open", EMFILE))
		return -1;
	return real_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
