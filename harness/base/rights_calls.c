// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/rights_calls.h"

#include <asm/termbits.h>
#include <asm/ioctls.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/own_machine.h"

enum condition {
	ALWAYS,
	NONE_OF, /* the argument has none of the value's bits */
	EQUAL,   /* the argument equals the value */
};

/* An allowed system call, with a condition on the low half of an argument. Memory behind pointers
 * is not checked. */
struct call {
	int number, argument;
	enum condition condition;
	unsigned int value;
};

enum { WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, MOST = 512 };

static const struct call calls[] = {
	{.number = SYS_read},
	{.number = SYS_pread64},
	{.number = SYS_readv},
	{.number = SYS_write},
	{.number = SYS_pwrite64},
	{.number = SYS_writev},
	{.number = SYS_lseek},
	{.number = SYS_close},
	{.number = SYS_ftruncate},
	{SYS_openat, 2, NONE_OF, WRITING},
	{.number = SYS_fstat},
	{.number = SYS_statx},
	{.number = SYS_readlinkat},
	{.number = SYS_faccessat},
#ifdef SYS_faccessat2
	{.number = SYS_faccessat2},
#endif
#ifdef SYS_newfstatat
	{.number = SYS_newfstatat},
#endif
#ifdef SYS_open /* older architectures also have calls such as open() */
	{SYS_open, 1, NONE_OF, WRITING},
	{.number = SYS_stat},
	{.number = SYS_lstat},
	{.number = SYS_access},
	{.number = SYS_readlink},
	{.number = SYS_poll},
#endif
	{.number = SYS_getdents64},
	{.number = SYS_getcwd},
	{.number = SYS_dup},
	{SYS_fcntl, 1, EQUAL, F_DUPFD_CLOEXEC},
	{SYS_fcntl, 1, EQUAL, F_GETFL},
	{SYS_fcntl, 1, EQUAL, F_GETFD},
	{SYS_fcntl, 1, EQUAL, F_SETFD},
	{SYS_ioctl, 1, EQUAL, TCGETS},
	{.number = SYS_ppoll},
	{SYS_mmap, 2, NONE_OF, PROT_EXEC},
	{SYS_mprotect, 2, NONE_OF, PROT_EXEC},
	{.number = SYS_mremap},
	{.number = SYS_munmap},
	{.number = SYS_madvise},
	{.number = SYS_brk},
	{.number = SYS_futex},
	{.number = SYS_rt_sigaction},
	{.number = SYS_fstatfs},
	{.number = SYS_rt_sigprocmask},
	{.number = SYS_rt_sigreturn},
	{.number = SYS_sigaltstack},
	{.number = SYS_restart_syscall},
	{.number = SYS_getpid},
	{.number = SYS_getppid},
	{.number = SYS_gettid},
	{.number = SYS_getuid},
	{.number = SYS_geteuid},
	{.number = SYS_getgid},
	{.number = SYS_getegid},
	{.number = SYS_getrandom},
	{.number = SYS_clock_gettime},
	{.number = SYS_clock_getres},
	{.number = SYS_clock_nanosleep},
	{.number = SYS_gettimeofday},
	{.number = SYS_nanosleep},
	{.number = SYS_sched_yield},
	{.number = SYS_sched_getaffinity},
	{.number = SYS_sysinfo},
	{.number = SYS_uname},
	{.number = SYS_getrusage},
	{SYS_prlimit64, 0, EQUAL, 0},
	/* for PR_SET_PDEATHSIG, which the confined process sets after it installs this filter
	 * (confine.c) */
	{SYS_prctl, 0, EQUAL, PR_SET_PDEATHSIG},
	{.number = SYS_exit},
	{.number = SYS_exit_group},
};

struct filter {
	struct sock_filter lines[MOST];
	unsigned short count;
};

static void add_instruction(struct filter *program, unsigned short code, unsigned int k,
			    unsigned char yes, unsigned char no)
{
	program->lines[program->count++] = (struct sock_filter){code, yes, no, k};
}

static void add_load(struct filter *program, size_t offset)
{
	add_instruction(program, BPF_LD | BPF_W | BPF_ABS, (unsigned int)offset, 0, 0);
}

static void add_return(struct filter *program, unsigned int action)
{
	add_instruction(program, BPF_RET | BPF_K, action, 0, 0);
}

/* Each rule starts with the number in the accumulator, and keeps it there if it does not match. */
static void allow_call(struct filter *program, const struct call *call)
{
	const size_t low = offsetof(struct seccomp_data, args) + 8 * (size_t)call->argument +
			   (BYTE_ORDER == BIG_ENDIAN ? 4 : 0);

	if (call->condition == ALWAYS) {
		add_instruction(program, BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)call->number, 0,
				1);
		add_return(program, SECCOMP_RET_ALLOW);
		return;
	}
	add_instruction(program, BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)call->number, 0, 4);
	add_load(program, low);
	if (call->condition == EQUAL)
		add_instruction(program, BPF_JMP | BPF_JEQ | BPF_K, call->value, 0, 1);
	else
		add_instruction(program, BPF_JMP | BPF_JSET | BPF_K, call->value, 1, 0);
	add_return(program, SECCOMP_RET_ALLOW);
	add_load(program, offsetof(struct seccomp_data, nr));
}

int jp_rights_restrict_calls(int channel, int peer, bool openat2)
{
	const unsigned int machine = jp_get_own_machine() | __AUDIT_ARCH_64BIT |
				     (BYTE_ORDER == LITTLE_ENDIAN ? __AUDIT_ARCH_LE : 0);
	const struct call more_calls[] = {
		{SYS_sendmsg, 0, EQUAL, (unsigned int)channel},
		{SYS_recvmsg, 0, EQUAL, (unsigned int)channel},
		{SYS_sendmsg, 0, EQUAL, (unsigned int)(peer ?: channel)},
		{SYS_recvmsg, 0, EQUAL, (unsigned int)(peer ?: channel)},
		{openat2 ? SYS_openat2 : SYS_read, 0, ALWAYS, 0},
		{SYS_tgkill, 0, EQUAL, (unsigned int)getpid()}, /* abort() */
	};
	struct filter program = {.count = 0};
	struct sock_fprog filter = {.filter = program.lines};

#ifdef __SANITIZE_ADDRESS__ /* LeakSanitizer traces its own process */
	return 0;
#endif
	add_load(&program, offsetof(struct seccomp_data, arch));
	add_instruction(&program, BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0);
	add_return(&program, SECCOMP_RET_ERRNO | EPERM);
	add_load(&program, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		allow_call(&program, &calls[i]);
	for (size_t i = 0; i < sizeof(more_calls) / sizeof(more_calls[0]); i++)
		allow_call(&program, &more_calls[i]);
	add_return(&program, SECCOMP_RET_ERRNO | EPERM);
	filter.len = program.count;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) ? -errno : 0;
}
