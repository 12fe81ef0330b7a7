// SPDX-License-Identifier: GPL-2.0-only
#include "harness/base/rights.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
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

/* Calls that need no check of an argument. */
static const int calls[] = {
	/* files */
	SYS_read, SYS_pread64, SYS_readv, SYS_write, SYS_pwrite64, SYS_writev, SYS_lseek, SYS_close,
	SYS_ftruncate, SYS_fstat, SYS_statx, SYS_fstatfs, SYS_readlinkat, SYS_faccessat,
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
#ifdef SYS_open /* older architectures also have calls such as open() */
	SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_poll,
#endif
	SYS_getdents64, SYS_getcwd, SYS_dup, SYS_ppoll,
	/* memory and signals */
	SYS_mremap, SYS_munmap, SYS_madvise, SYS_brk, SYS_futex, SYS_rt_sigaction,
	SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
	/* process and time */
	SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
	SYS_getrandom, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_gettimeofday,
	SYS_nanosleep, SYS_sched_yield, SYS_sched_getaffinity, SYS_sysinfo, SYS_uname,
	SYS_getrusage, SYS_exit, SYS_exit_group};

static const struct call checked_calls[] = {
	{SYS_openat, 2, NONE_OF, WRITING},
#ifdef SYS_open
	{SYS_open, 1, NONE_OF, WRITING},
#endif
	{SYS_fcntl, 1, EQUAL, F_DUPFD_CLOEXEC},
	{SYS_fcntl, 1, EQUAL, F_GETFL},
	{SYS_fcntl, 1, EQUAL, F_GETFD},
	{SYS_fcntl, 1, EQUAL, F_SETFD},
	{SYS_ioctl, 1, EQUAL, TCGETS},
	{SYS_mmap, 2, NONE_OF, PROT_EXEC},
	{SYS_mprotect, 2, NONE_OF, PROT_EXEC},
	{SYS_prlimit64, 0, EQUAL, 0},
	/* for PR_SET_PDEATHSIG, which the confined process sets after it installs this filter
	 * (confine.c) */
	{SYS_prctl, 0, EQUAL, PR_SET_PDEATHSIG},
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

/* Forbids all system calls that are not needed for reading, computing and writing to open files
 * (seccomp); messages may use only @channel and, unless 0, @peer. Needs PR_SET_NO_NEW_PRIVS.
 * @openat2: allows this call too, although seccomp cannot check its arguments. Returns 0 or
 * -errno. */
static int restrict_calls(int channel, int peer, bool openat2)
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
		allow_call(&program, &(struct call){.number = calls[i]});
	for (size_t i = 0; i < sizeof(checked_calls) / sizeof(checked_calls[0]); i++)
		allow_call(&program, &checked_calls[i]);
	for (size_t i = 0; i < sizeof(more_calls) / sizeof(more_calls[0]); i++)
		allow_call(&program, &more_calls[i]);
	add_return(&program, SECCOMP_RET_ERRNO | EPERM);
	filter.len = program.count;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) ? -errno : 0;
}

enum { NOBODY = 65534 };
/* The definitions of linux/landlock.h, which is incomplete on older systems. */
enum {
	CREATE_RULESET_VERSION = 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	ALL_OF_5_13 = (1 << 13) - 1,
	REFER = 1 << 13,    /* LANDLOCK_ACCESS_FS_REFER, from 5.19 (ABI 2) */
	TRUNCATE = 1 << 14, /* LANDLOCK_ACCESS_FS_TRUNCATE, from 6.2 (ABI 3) */
};
#ifndef SYS_landlock_create_ruleset /* since 5.13; the same number on all architectures */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

static int64_t user_before = -1;

uid_t jp_rights_get_first_user(void)
{
	return user_before < 0 ? geteuid() : (uid_t)user_before;
}

/* Becomes the user @owner. Never takes the input's group: in a folder with S_ISGID anyone can
 * create files of another group. */
static int become_user(uid_t owner)
{
	const uid_t user = owner ? owner : NOBODY;
	int failed;

	if (geteuid())
		return 0;
	failed = setgroups(0, NULL) ? -errno : 0;
	/* Become @user only as effective user. A user may signal processes whose real or saved user
	 * it is, and the owner of a file must not be able to stop its reader. */
	if (!setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, user, NOBODY))
		return failed;
	/* EINVAL: the user namespace does not map such a user, so root here is an ordinary user
	 * outside. */
	return errno == EINVAL ? 0 : -errno;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &head, none) ? -errno : 0;
}

/* Forbids to write, create or execute files by path (Landlock, since 5.13); open files are not
 * affected. Needs PR_SET_NO_NEW_PRIVS. Returns 0 or -errno. */
static int forbid_writing(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	const uint64_t handled = (ALL_OF_5_13 & ~(READ_FILE | READ_DIR)) |
				 (version > 1 ? REFER : 0) | (version > 2 ? TRUNCATE : 0);
	int rules = -1, ret;

	if (version > 0)
		rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	/* A ruleset without rules forbids all handled accesses. */
	ret = rules < 0 || syscall(SYS_landlock_restrict_self, rules, 0) ? -errno : 0;
	if (rules >= 0)
		close(rules);
	return ret;
}

int jp_rights_drop(int64_t owner, int channel, int peer, struct jp_error *err)
{
	int user, capabilities, restricted;

	user_before = geteuid();
	user = become_user((uid_t)owner);
	capabilities = drop_capabilities();
	/* Landlock is only a second lock, so its absence is no error. */
	restricted = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
	if (!restricted)
		restricted = restrict_calls(channel, peer, !forbid_writing());
	if (user)
		return jp_fail(err, -user,
			       "cannot drop root privileges here (%s): the input is read as root, "
			       "without capabilities",
			       strerror(-user));
	if (capabilities)
		return jp_fail(err, -capabilities, "cannot drop capabilities here: %s",
			       strerror(-capabilities));
	if (restricted)
		return jp_fail(err, -restricted,
			       "cannot restrict system calls here (%s): the input is read with its "
			       "owner's rights only",
			       strerror(-restricted));
	return 0;
}
