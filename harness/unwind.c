// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unwind.h"

#include <stdlib.h>
#include <string.h>

#include "harness/elf_store.h"
#include "harness/machine.h"

struct jp_unwinder {
	struct jp_elf_store *store;
	const struct jp_machine *machine;
	bool frame_pointers;
};

/* The dumped stack: the only memory of the process that there is. */
struct dump {
	const unsigned char *bytes;
	uint64_t sp, size;
};

const char *jp_unwind_stop_text(enum jp_unwind_stop stop)
{
	static const char *const texts[] = {
		[JP_UNWIND_ROOT] = "root",
		[JP_UNWIND_UNMAPPED] = "unmapped",
		[JP_UNWIND_NO_ELF] = "no-elf",
		[JP_UNWIND_NO_CFI] = "no-cfi",
		[JP_UNWIND_BAD_FRAME] = "bad-frame",
		[JP_UNWIND_DUMP_END] = "dump-end",
		[JP_UNWIND_MAX] = "max",
		[JP_UNWIND_NO_DATA] = "no-data",
	};

	return (size_t)stop < sizeof(texts) / sizeof(*texts) ? texts[stop] : "?";
}

struct jp_unwinder *jp_unwinder_new(const char *elf_dir, bool system)
{
	struct jp_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return NULL;
	unwinder->machine = jp_machine_find(0);
	unwinder->store = jp_elf_store_new(elf_dir, system);
	if (!unwinder->store) {
		free(unwinder);
		return NULL;
	}
	return unwinder;
}

void jp_unwinder_free(struct jp_unwinder *unwinder)
{
	if (!unwinder)
		return;
	jp_elf_store_free(unwinder->store);
	free(unwinder);
}

void jp_unwinder_frame_pointers(struct jp_unwinder *unwinder, bool follow)
{
	unwinder->frame_pointers = follow;
}

static bool load(void *context, uint64_t addr, uint64_t *value)
{
	const struct dump *dump = context;
	uint64_t at = addr - dump->sp;

	if (dump->size < 8 || at > dump->size - 8)
		return false;
	memcpy(value, dump->bytes + at, 8);
	return true;
}

/* What one walk stands on. */
struct walk {
	struct jp_unwinder *unwinder;
	const struct jp_event *sample;
	struct jp_regs regs;
	struct dump dump;
	bool called; /* regs' ip is a return address: the call stands before it */
	enum jp_unwind_stop stop;
};

/* One step by the frame-pointer rule; false: walk->stop says why there is none. */
static bool step_frame(struct walk *walk)
{
	switch (walk->unwinder->machine->frame(&walk->regs, load, &walk->dump)) {
	case JP_FRAME_STEPPED:
		walk->called = true;
		return true;
	case JP_FRAME_BEYOND:
		/* A dump that is smaller than what was asked for holds the stack to its very end.
		 */
		walk->stop = walk->dump.size < walk->sample->sample.stack_asked
				     ? JP_UNWIND_BAD_FRAME
				     : JP_UNWIND_DUMP_END;
		return false;
	default:
		walk->stop = JP_UNWIND_BAD_FRAME;
		return false;
	}
}

/* One step by call frame information, for @addr in @mapping of a file. */
static bool step_file(struct walk *walk, struct jp_mapping *mapping, uint64_t addr)
{
	struct jp_unwinder *unwinder = walk->unwinder;
	struct jp_elf_entry *entry = mapping->file;
	enum jp_cfi_answer answer = JP_CFI_NONE;
	uint64_t vaddr;

	if (!entry)
		entry = mapping->file = jp_elf_store_get(unwinder->store, mapping);
	if (!entry || !entry->cfi || jp_cfi_machine(entry->cfi) != unwinder->machine) {
		walk->stop = JP_UNWIND_NO_ELF;
		return unwinder->frame_pointers && step_frame(walk);
	}
	vaddr = jp_cfi_vaddr(entry->cfi, addr - mapping->start + mapping->pgoff);
	if (vaddr != UINT64_MAX)
		answer = jp_cfi_step(entry->cfi, vaddr, &walk->regs, load, &walk->dump);
	switch (answer) {
	case JP_CFI_STEPPED:
	case JP_CFI_SIGNAL:
		walk->called = answer == JP_CFI_STEPPED;
		return true;
	case JP_CFI_END:
		walk->stop = JP_UNWIND_ROOT;
		return false;
	case JP_CFI_STACK:
		walk->stop = JP_UNWIND_DUMP_END;
		return false;
	default:
		walk->stop = JP_UNWIND_NO_CFI;
		return unwinder->frame_pointers && step_frame(walk);
	}
}

/* From the frame at regs' ip to its caller's. */
static bool step(struct walk *walk, struct jp_replay *replay, uint64_t *where)
{
	const struct jp_machine *machine = walk->unwinder->machine;
	uint64_t addr = walk->regs.r[machine->ip] - walk->called, sp = walk->regs.r[machine->sp];
	struct jp_mapping *mapping = jp_replay_find(replay, walk->sample->pid, addr);
	/* A leaf may have kept its return address in a register: vfork() does. */
	uint64_t pushed = walk->called ? machine->pushed : 0, caller_sp, unused;

	*where = addr;
	if (!mapping) {
		walk->stop = JP_UNWIND_UNMAPPED;
		return false;
	}
	if (!(mapping->backing == JP_BACKING_FILE ? step_file(walk, mapping, addr)
						  : step_frame(walk)))
		return false;
	if (walk->regs.r[machine->ip] == 0) {
		walk->stop = JP_UNWIND_ROOT;
		return false;
	}
	/* The stack falls as the walk rises, or it would never end. But a signal's handler may run
	 * on a stack of its own: the interrupted one is then outside the dump. */
	caller_sp = walk->regs.r[machine->sp];
	if (caller_sp < sp + pushed && (walk->called || load(&walk->dump, caller_sp, &unused))) {
		walk->stop = JP_UNWIND_BAD_FRAME;
		return false;
	}
	return true;
}

uint32_t jp_unwind(struct jp_unwinder *unwinder, struct jp_replay *replay,
		   const struct jp_event *sample, uint64_t *frames, uint32_t room,
		   enum jp_unwind_stop *stop, uint64_t *where)
{
	const struct jp_machine *machine = unwinder->machine;
	const struct jp_regs *regs = sample->sample.regs;
	struct walk walk = {.unwinder = unwinder, .sample = sample, .stop = JP_UNWIND_NO_DATA};
	uint32_t count = 0;

	*where = 0;
	*stop = JP_UNWIND_NO_DATA;
	if (!machine || !regs || !(regs->known & (uint32_t)1 << machine->ip))
		return 0;
	walk.regs = *regs;
	if (sample->sample.stack && regs->known & (uint32_t)1 << machine->sp)
		walk.dump = (struct dump){sample->sample.stack, regs->r[machine->sp],
					  sample->sample.stack_size};
	do {
		if (count == room) {
			walk.stop = JP_UNWIND_MAX;
			break;
		}
		frames[count++] = walk.regs.r[machine->ip];
	} while (walk.dump.bytes && step(&walk, replay, where));
	*stop = walk.stop;
	return count;
}
