// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/frame_use.h"

#include "harness/model/unwind/cfi_rows.h"
#include "harness/model/unwind/elf_store.h"

/* Returns whether @fp, which finds the saved frame pointer, and @ip, which finds the return
 * address, show a frame record whose address is the frame pointer, as on arm64. There, compilers
 * find the frame by the stack pointer even if the function keeps the frame pointer. */
static bool is_record(const struct jp_machine_frames *frames, const struct jp_cfi_rule *fp,
		      const struct jp_cfi_rule *ip)
{
	return !frames->pushed && !frames->fp_above && fp->kind == JP_RULE_AT_CFA &&
	       ip->kind == JP_RULE_AT_CFA &&
	       fp->offset + (int32_t)jp_machine_word(frames) == ip->offset;
}

/* Returns whether the frame pointer points to a frame record if @cfa, a distance from the frame
 * pointer, finds the frame. Where calls push the return address, the record is the frame's top.
 * libffi copies its caller's frame pointer to another place. */
static bool finds_record(const struct jp_machine_frames *frames, const struct jp_cfi_rule *cfa)
{
	return !frames->pushed || cfa->offset == 2 * (int32_t)jp_machine_word(frames);
}

enum jp_frame_use jp_frame_use_at(struct jp_cfi *cfi, uint64_t vaddr)
{
	const struct jp_machine *machine = jp_cfi_machine(cfi);
	struct jp_cfi_row row;
	const struct jp_cfi_rows *rows = jp_cfi_row_at(cfi, vaddr, &row);

	if (row.kind == JP_ROW_END)
		return JP_FRAME_ROOT;
	if (row.kind != JP_ROW_STEP || row.cfa.kind != JP_RULE_REG)
		return JP_FRAME_UNKNOWN;
	if (row.cfa.reg == machine->frames->fp)
		return finds_record(machine->frames, &row.cfa) ? JP_FRAME_LINKED : JP_FRAME_USED;
	for (unsigned i = 0; i < row.count; i++)
		if (rows->rules[row.first_rule + i].target == machine->frames->fp)
			return is_record(machine->frames, &rows->rules[row.first_rule + i],
					 &rows->rules[row.first_rule])
				       ? JP_FRAME_LINKED
				       : JP_FRAME_USED;
	return JP_FRAME_KEPT;
}

/* Returns the address @addr in the file of @entry, or UINT64_MAX without call frame information. */
static uint64_t find_vaddr(const struct jp_elf_entry *entry, const struct jp_mapping *mapping,
			   uint64_t addr)
{
	if (!entry || !entry->cfi)
		return UINT64_MAX;
	return jp_cfi_vaddr(entry->cfi, addr - mapping->start + mapping->pgoff);
}

enum jp_frame_use jp_frame_use(struct jp_elf_store *store, const struct jp_mapping *mapping,
			       uint64_t addr)
{
	const struct jp_elf_entry *entry = jp_elf_store_get(store, mapping);
	const uint64_t vaddr = find_vaddr(entry, mapping, addr);
	enum jp_frame_use use;

	if (vaddr == UINT64_MAX)
		return JP_FRAME_UNKNOWN;
	use = jp_frame_use_at(entry->cfi, vaddr);
	if (use != JP_FRAME_KEPT && use != JP_FRAME_USED)
		return use;
	for (unsigned i = 1; i <= JP_FRAME_NEAR; i++)
		if (jp_frame_use_at(entry->cfi, vaddr + i) == JP_FRAME_LINKED ||
		    (vaddr >= i && jp_frame_use_at(entry->cfi, vaddr - i) == JP_FRAME_LINKED))
			return JP_FRAME_LINKED;
	return use;
}

bool jp_frame_is_absent(struct jp_elf_store *store, const struct jp_mapping *mapping, uint64_t addr)
{
	const struct jp_elf_entry *entry = jp_elf_store_get(store, mapping);
	const uint64_t vaddr = find_vaddr(entry, mapping, addr);

	return vaddr != UINT64_MAX && jp_frame_use_at(entry->cfi, vaddr) == JP_FRAME_KEPT;
}

bool jp_frame_kept(struct jp_elf_store *store, const struct jp_mapping *mapping)
{
	/* In a file without frame pointers, the few functions with a frame of variable size still
	 * have one. But even files with frame pointers contain assembly, and code of other
	 * libraries. So require one function in PART. */
	enum { PART = 4 };
	const struct jp_elf_entry *entry = jp_elf_store_get(store, mapping);
	size_t functions = 0, framed = 0;

	if (entry && entry->cfi)
		jp_cfi_frames(entry->cfi, &functions, &framed);
	return framed && framed * PART >= functions;
}
