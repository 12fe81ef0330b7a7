// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traces which blocks of a program run: linked as the first object into a program built with
 * -fsanitize-coverage=trace-pc. Sets a bit for each block in the file MUTANTS_TRACE, which survives
 * any kind of exit. Maps the file before the program drops its privileges, shared with its
 * children. Blocks are counted from this object, so that programs that link the same objects first
 * use the same bits.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char etext;
void __sanitizer_cov_trace_pc(void);

static _Atomic uint8_t *bits;

static __attribute__((constructor(101))) void map_bits(void)
{
	size_t size = (size_t)(&etext - (char *)__sanitizer_cov_trace_pc) / 8 + 1;
	const char *path = getenv("MUTANTS_TRACE");
	void *map;
	int fd;

	if (!path)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		return;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	bits = map == MAP_FAILED ? NULL : map;
}

void __sanitizer_cov_trace_pc(void)
{
	size_t at =
		(size_t)((char *)__builtin_return_address(0) - (char *)__sanitizer_cov_trace_pc);

	if (bits)
		bits[at / 8] |= (uint8_t)(1 << at % 8);
}
