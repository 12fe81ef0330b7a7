// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/call_sites.h"

#include <stdlib.h>

#include "harness/base/file.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
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

/* values above these are the addresses of called functions */
enum call_site { UNSEEN_SITE, NOTHING_KNOWN, MAIN_BEHIND };

struct jp_call_sites {
	struct jp_elf_store *store;
	struct jp_file_finder *finder;
	struct jp_map answers; /* enum call_site or address, by address and file */
};

/* LONGEST: number of bytes to read from a function's entry. LONGEST_CALL: number of bytes of the
 * longest direct call on any machine. MOST: largest number of cached call sites; emitted code has
 * few callers, and a hostile file gets no more. */
enum { LONGEST = 4096, LONGEST_CALL = 5, MOST = 4096 };

struct jp_call_sites *jp_call_sites_new(struct jp_elf_store *store, struct jp_file_finder *finder)
{
	struct jp_call_sites *sites = calloc(1, sizeof(*sites));

	if (sites)
		*sites = (struct jp_call_sites){.store = store, .finder = finder};
	return sites;
}

void jp_call_sites_free(struct jp_call_sites *sites)
{
	if (sites)
		jp_map_free(&sites->answers);
	free(sites);
}

/* Reads up to @size bytes of @mapping's file at @offset. Returns the number of bytes, 0 on
 * error. */
static size_t read_code(struct jp_call_sites *sites, const struct jp_mapping *mapping,
			const struct jp_elf_entry *entry, uint64_t offset, unsigned char *code,
			size_t size)
{
	const struct jp_wanted_file wanted_file = {
		.path = mapping->name, .id = *entry->id, .pid = mapping->pid};
	struct jp_found_file file;

	if (jp_file_find(sites->finder, &wanted_file, JP_FILE_ITSELF, &file, NULL))
		return 0;
	size = offset < file.size ? jp_min(file.size - offset, size) : 0;
	if (file.fd < 0 || jp_file_read_at(file.fd, file.path, code, size, offset, NULL))
		size = 0;
	jp_found_file_close(&file);
	return size;
}

/* Returns whether the function at @vaddr, whose first @size bytes are @code, creates a frame (saves
 * and sets the frame pointer) at its entry, and returns soon after it drops the frame. Compilers
 * compute results in between, without registers that belong to the caller: no such instruction has
 * the byte of x86's return. */
static bool keeps_frame(struct jp_cfi *cfi, uint64_t vaddr, const unsigned char *code, size_t size)
{
	const struct jp_machine *machine = jp_cfi_machine(cfi);
	bool linked = true;
	size_t offset = 0;

	while (jp_frame_use_at(cfi, vaddr + offset) != JP_FRAME_LINKED)
		if (offset++ == JP_FRAME_NEAR)
			return false;
	for (; offset < size; offset++) {
		const bool is_linked = jp_frame_use_at(cfi, vaddr + offset) == JP_FRAME_LINKED;

		for (size_t nr_dropped = offset; linked && !is_linked; offset++)
			if (machine->frames->returns(code + offset, size - offset))
				break;
			else if (offset == size || offset > nr_dropped + JP_FRAME_NEAR ||
				 jp_frame_use_at(cfi, vaddr + offset) <= JP_FRAME_LINKED)
				return false;
		/* Code after a return belongs to another part or function. */
		if (!linked && !is_linked)
			return true;
		linked = is_linked;
	}
	return false;
}

static uint64_t inspect_site(struct jp_call_sites *sites, const struct jp_mapping *mapping,
			     uint64_t addr)
{
	const struct jp_elf_entry *entry = jp_elf_store_get(sites->store, mapping);
	const struct jp_machine *machine = entry && entry->cfi ? jp_cfi_machine(entry->cfi) : NULL;
	const uint64_t offset = addr - mapping->start + mapping->pgoff;
	unsigned char code[LONGEST];
	uint64_t vaddr, target;
	int64_t distance;
	size_t size;

	if (!machine || !machine->frames->returns || offset < LONGEST_CALL ||
	    read_code(sites, mapping, entry, offset - LONGEST_CALL, code, LONGEST_CALL) !=
		    LONGEST_CALL ||
	    !machine->frames->follows_direct_call(code, LONGEST_CALL, &distance))
		return NOTHING_KNOWN;
	target = offset + (uint64_t)distance;
	if (target - mapping->pgoff >= mapping->end - mapping->start)
		return NOTHING_KNOWN;
	vaddr = jp_cfi_vaddr(entry->cfi, target);
	size = read_code(sites, mapping, entry, target, code, sizeof(code));
	return vaddr != UINT64_MAX && keeps_frame(entry->cfi, vaddr, code, size)
		       ? addr + (uint64_t)distance
		       : NOTHING_KNOWN;
}

/* Finds out whether main() may return to @addr, in the code of a C library. */
static uint64_t inspect_start(struct jp_call_sites *sites, const struct jp_mapping *mapping,
			      uint64_t addr)
{
	const struct jp_elf_entry *entry = jp_elf_store_get(sites->store, mapping);
	const struct jp_machine *machine = entry && entry->cfi ? jp_cfi_machine(entry->cfi) : NULL;
	unsigned char code[LONGEST_CALL];

	return machine && machine->frames->passes_result &&
			       machine->frames->passes_result(
				       code, read_code(sites, mapping, entry,
						       addr - mapping->start + mapping->pgoff, code,
						       sizeof(code)))
		       ? MAIN_BEHIND
		       : NOTHING_KNOWN;
}

/* Returns what @inspect finds out about @addr in @mapping, at the first call or earlier. */
static uint64_t inspect_once(struct jp_call_sites *sites, const struct jp_mapping *mapping,
			     uint64_t addr,
			     uint64_t (*inspect)(struct jp_call_sites *sites,
						 const struct jp_mapping *mapping, uint64_t addr))
{
	const uint64_t key = addr ^ (uintptr_t)mapping->name << 16;
	uint64_t *answer = sites->answers.count < MOST
				   ? jp_map_at(&sites->answers, key, sizeof(*answer))
				   : jp_map_find(&sites->answers, key);

	if (!answer)
		return NOTHING_KNOWN;
	if (*answer == UNSEEN_SITE)
		*answer = inspect(sites, mapping, addr);
	return *answer;
}

uint64_t jp_call_sites_frame_behind(struct jp_call_sites *sites, const struct jp_mapping *mapping,
				    uint64_t addr)
{
	const uint64_t known = inspect_once(sites, mapping, addr, inspect_site);

	return known == NOTHING_KNOWN ? 0 : known;
}

bool jp_call_sites_main_behind(struct jp_call_sites *sites, const struct jp_mapping *libc,
			       uint64_t addr)
{
	return inspect_once(sites, libc, addr, inspect_start) == MAIN_BEHIND;
}
