// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <asm/ptrace.h>

#include "harness/trace/registers.h"

enum { A7 = 17, PC = 32 };

/* A thread that stopped within a system call needs no check of its own: do_signal() of arch/riscv
 * sets its pc back to the system call instruction before it stops. */
bool jp_registers_read(pid_t tid, struct jp_regs *regs)
{
	struct user_regs_struct user;
	struct iovec buffer = {&user, sizeof(user)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &buffer) || buffer.iov_len != sizeof(user))
		return false;
	*regs = (struct jp_regs){.machine = jp_machine_find(EM_RISCV),
				 .mask = (UINT64_C(1) << (PC + 1)) - 1};
	/* The pc, and x1 to x31. */
	memcpy(regs->r, &user, sizeof(user));
	regs->r[0] = 0;
	regs->r[PC] = user.pc;
	return regs->machine;
}

bool jp_registers_ends_burst(const struct jp_regs *regs, const unsigned char *code, uint64_t size)
{
	const uint32_t ecall = 0x73;
	uint32_t insn = 0;

	if (size >= sizeof(insn))
		memcpy(&insn, code, sizeof(insn));
	return insn == ecall && regs->r[A7] != SYS_rt_sigreturn;
}
