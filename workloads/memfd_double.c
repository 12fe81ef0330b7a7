// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "workloads/emit/program.h"
#include "workloads/emit/workload.h"

/* Makes memfd_create() fail with EPERM from now on, as in a container with a strict profile. The
 * filter checks only this ABI's system call number. Returns 0 or -errno. */
static int deny_memfd(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -errno;
	return 0;
}

/* A memfd that is mapped twice, once writable and once executable, as in .NET with W^X. If
 * memfd_create() is denied, the code is in anonymous memory that is writable and executable, as in
 * .NET, too. */
static struct jp_plan plan =
	JP_PLAN(.protect = JP_PROTECT_VIEWS, .name = "doublemapper", .instead = JP_PROTECT_RWX);
static bool deny;

static int run(int argc, char **argv)
{
	if (deny && deny_memfd() < 0) {
		perror("jitproof workload memfd_double: seccomp");
		return 1;
	}
	return jp_plan_run(argv[0], &plan);
}

static const struct jp_option options[] = {
	{"--deny", .set = &deny, .help = "a seccomp filter makes memfd_create fail with EPERM"},
	{.get_more = jp_plan_options, .context = &plan},
	{0}};

JP_DEFINE(workload, memfd_double) = {
	.name = "memfd_double",
	.help = "code in a memfd that is mapped twice, RW and RX",
	.options = options,
	.run = run,
};
