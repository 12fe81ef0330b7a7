// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "harness/trace/registers.h"

enum { RAX = 0, USER_CS = 0x33 };

/* Returns whether the thread stopped within a system call, which it would continue or repeat. The
 * registers then contain the call's number, and as result -ENOSYS or an error from ERESTARTSYS
 * (512) to ERESTART_RESTARTBLOCK (516) (include/linux/errno.h). */
static bool is_waiting(const struct user_regs_struct *user)
{
	const int64_t result = -(int64_t)user->rax;

	return (int64_t)user->orig_rax >= 0 &&
	       (result == ENOSYS || (result >= 512 && result <= 516));
}

bool jp_registers_read(pid_t tid, struct jp_regs *regs)
{
	struct user_regs_struct user;

	if (ptrace(PTRACE_GETREGS, tid, 0, &user) || user.cs != USER_CS || is_waiting(&user))
		return false;
	/* indexed by DWARF's register numbers */
	*regs = (struct jp_regs){
		.machine = jp_machine_find(EM_X86_64),
		.mask = (1 << 17) - 1,
		.r = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp,
		      user.rsp, user.r8, user.r9, user.r10, user.r11, user.r12, user.r13, user.r14,
		      user.r15, user.rip},
	};
	return regs->machine;
}

/* Returns whether system call @number never waits for another thread, and changes neither mappings
 * nor files. */
static bool is_harmless(uint64_t number)
{
	switch (number) {
	case SYS_rt_sigreturn:
	case SYS_rt_sigprocmask:
	case SYS_clock_gettime:
	case SYS_gettimeofday:
	case SYS_timer_settime:
	case SYS_process_vm_readv:
	case SYS_getpid:
	case SYS_gettid:
		return true;
	default:
		return false;
	}
}

/* Returns whether the code is pushf, popf or iret, without or with a prefix for its size. pushf
 * stores the trap flag of a step, and a later popf would load it. After a step over popf or iret,
 * the kernel takes the flag for the program's own: PTRACE_CONT does not clear it
 * (is_setting_trap_flag() and user_disable_single_step(), arch/x86/kernel/step.c). Both end the
 * program by SIGTRAP. */
static bool changes_flags(const unsigned char *code, uint64_t size)
{
	enum { SIZE_16 = 0x66, SIZE_64 = 0x48, PUSHF = 0x9c, POPF = 0x9d, IRET = 0xcf };
	const bool prefix = size && (code[0] == SIZE_16 || code[0] == SIZE_64);
	const unsigned char opcode = size > prefix ? code[prefix] : 0;

	return opcode == PUSHF || opcode == POPF || opcode == IRET;
}

bool jp_registers_ends_burst(const struct jp_regs *regs, const unsigned char *code, uint64_t size)
{
	const uint16_t opcode = size < 2 ? 0 : (uint16_t)(code[0] | code[1] << 8);

	if (changes_flags(code, size))
		return true;
	switch (opcode) {
	case 0x050f: /* syscall */
		return !is_harmless(regs->r[RAX]);
	case 0x340f: /* sysenter */
	case 0x80cd: /* int 0x80 */
		return true;
	default:
		return false;
	}
}
