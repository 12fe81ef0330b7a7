// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "harness/trace/registers.h"

enum { X8 = 8, SP = 31, PC = 32 };

/* A thread that stopped within a system call needs no check of its own: do_signal() of arch/arm64
 * sets its pc back to the system call instruction before it stops. */
bool jp_registers_read(pid_t tid, struct jp_regs *regs)
{
	struct user_regs_struct user;
	struct iovec buffer = {&user, sizeof(user)};

	/* 32-bit code has fewer registers, so the size differs. */
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &buffer) || buffer.iov_len != sizeof(user))
		return false;
	*regs = (struct jp_regs){.machine = jp_machine_find(EM_AARCH64),
				 .mask = (UINT64_C(1) << (PC + 1)) - 1};
	memcpy(regs->r, user.regs, sizeof(user.regs));
	regs->r[SP] = user.sp;
	regs->r[PC] = user.pc;
	return regs->machine;
}

bool jp_registers_ends_burst(const struct jp_regs *regs, const unsigned char *code, uint64_t size)
{
	const uint32_t svc = 0xd4000001, immediate = 0x1fffe0;
	uint32_t insn = 0;

	if (size >= sizeof(insn))
		memcpy(&insn, code, sizeof(insn));
	return (insn & ~immediate) == svc && regs->r[X8] != SYS_rt_sigreturn;
}
