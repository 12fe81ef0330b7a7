/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "harness/trace/registers.h"
#include "workloads/emit/arch.h"

/* Registers, traps and calls of a child that is traced by single steps, for each machine. */
struct registers {
	uint64_t ip, sp, bp;
	uint64_t link; /* register with the return address of the last call; 0: the machine has none
			*/
};

static inline bool read_words(pid_t pid, uint64_t addr, uint64_t *words, size_t count)
{
	struct iovec to = {words, count * 8}, from = {(void *)(uintptr_t)addr, count * 8};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)(count * 8);
}

static inline bool read_registers(pid_t pid, struct registers *regs)
{
	const struct jp_machine *machine;
	struct jp_regs all;

	if (!jp_registers_read(pid, &all))
		return false;
	machine = all.machine;
	*regs = (struct registers){
		.ip = all.r[machine->ip],
		.sp = all.r[machine->sp],
		.bp = all.r[machine->frames->fp],
		.link = machine->frames->pushed ? 0 : all.r[jp_arch_elf.return_address],
	};
	return true;
}

#if defined(__x86_64__)
static const uint64_t trap_bits = 8, trap = 0xcc; /* int3 */
#elif defined(__aarch64__)
static const uint64_t trap_bits = 32, trap = 0xd4200000; /* brk 0 */
#elif defined(__riscv)
static const uint64_t trap_bits = 32, trap = 0x100073; /* ebreak */
#endif

/* Returns @word of code with a trap as its first instruction. */
static inline uint64_t make_trap(uint64_t word)
{
	return word >> trap_bits << trap_bits | trap;
}

#if defined(__x86_64__)
/* Steps back to a trap that the child ran into. */
static inline bool leave_trap(pid_t pid, struct registers *regs)
{
	regs->ip--;
	return !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.rip), regs->ip);
}

/* Stores the return address of the function whose first instruction is next. */
static inline bool read_return(pid_t pid, const struct registers *regs, uint64_t *address)
{
	return read_words(pid, regs->sp, address, 1);
}

/* Returns whether the step from @old was a call: it leaves the address behind it on the stack. */
static inline bool is_call(pid_t pid, const struct registers *old, const struct registers *regs)
{
	uint64_t word;

	return regs->sp == old->sp - 8 && regs->ip - old->ip > 15 &&
	       read_words(pid, regs->sp, &word, 1) && word - old->ip <= 7;
}

/* Returns whether the step from @old to @regs may be a return. */
static inline bool is_return(pid_t pid, const struct registers *old, const struct registers *regs)
{
	return regs->sp == old->sp + 8;
}
#else
/* The child stands at the trap. */
static inline bool leave_trap(pid_t pid, struct registers *regs)
{
	return true;
}

/* Stores the return address of the function whose first instruction is next. */
static inline bool read_return(pid_t pid, const struct registers *regs, uint64_t *address)
{
	*address = regs->link;
	return true;
}

/* Returns whether the step from @old was a call: it leaves the address behind it in the link
 * register. */
static inline bool is_call(pid_t pid, const struct registers *old, const struct registers *regs)
{
	return regs->link == old->ip + 4 && regs->ip != old->ip + 4;
}

/* Returns whether the step from @old to @regs was a return. */
static inline bool is_return(pid_t pid, const struct registers *old, const struct registers *regs)
{
	const struct jp_machine *machine = jp_machine_find(jp_arch_elf.machine);
	uint64_t word;

	return read_words(pid, old->ip, &word, 1) &&
	       machine->frames->returns((const unsigned char *)&word, sizeof(word));
}
#endif
