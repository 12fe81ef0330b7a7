// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/object.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/page.h"
#include "harness/format/truth/write.h"
#include "workloads/emit/image.h"
#include "workloads/emit/maps.h"
#include "workloads/emit/shapes.h"
#include "workloads/emit/eh_frame.h"
#include "workloads/emit/workload.h"

/* Layout of the file, as linkers lay it out: the first segment has headers, note and call frame
 * information; the second has the text, at an address that differs from its file offset; the third
 * has the data that the loader changes. */
enum {
	FRAMES = JP_PAGE_SMALLEST / 2, /* file offset of .eh_frame */
	TEXT_ROOM = 4 * JP_PAGE_SMALLEST,
	HEADERS = 7,
	DYNAMIC_ENTRIES = 6,
	ID = 20,
};

/* File offsets and addresses, in pages of this machine. */
enum {
	TEXT = 8,
	TEXT_ADDR = 24,
	DYNAMIC = TEXT + 4,
	DYNAMIC_ADDR = TEXT_ADDR + 8,
	FILE_PAGES = DYNAMIC + 1,
};

/* Returns the size of @pages pages of this machine. */
static size_t count_bytes(size_t pages)
{
	return pages * sysconf(_SC_PAGESIZE);
}

struct file {
	ElfW(Ehdr) elf;
	ElfW(Phdr) headers[HEADERS];
	ElfW(Nhdr) note;
	char note_name[4];
	unsigned char id[ID];
	ElfW(Sym) symbol; /* the null symbol */
	char strings[8];
	uint32_t hash[4]; /* one bucket, for the null symbol */
};

struct object_table { /* .eh_frame_hdr */
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
	int32_t rows[JP_OBJECT_FUNCTIONS][2];
};

struct maker {
	unsigned char *bytes;
	const struct jp_object_kind *kind;
	struct jp_object *object;
	size_t frames; /* used bytes of .eh_frame */
	struct object_table table;
};

static const struct jp_object_kind mixed = {
	.shapes = {JP_SHAPE_FP, JP_SHAPE_LONG, JP_SHAPE_LARGE, JP_SHAPE_FP, JP_SHAPE_FP,
		   JP_SHAPE_REALIGN, JP_SHAPE_NO_FP, JP_SHAPE_LEAF},
};

/* Appends the entries of jp_eh_frame(), which assumes that the code lies directly before them. Only
 * the function's address is relative to the place of the entry, so only this address is corrected
 * for code at @addr. */
static int add_frames(struct maker *maker, const struct jp_emitted *emitted, uint32_t addr)
{
	unsigned char entries[JP_EH_FRAME_MOST];
	size_t header;
	uint32_t cie;
	int32_t distance;
	int size = jp_eh_frame(emitted, entries, sizeof(entries), &header);

	if (size < 0)
		return size;
	size -= header + 8; /* only the last entry needs the end of .eh_frame */
	if (FRAMES + maker->frames + size + 8 + sizeof(struct object_table) > count_bytes(TEXT))
		return -ENOSPC;
	memcpy(&cie, entries, sizeof(cie));
	cie += sizeof(cie);
	distance = addr - (FRAMES + maker->frames + cie + 8);
	memcpy(entries + cie + 8, &distance, sizeof(distance));
	memcpy(maker->bytes + FRAMES + maker->frames, entries, size);
	maker->table.rows[maker->table.count][0] = addr;
	maker->table.rows[maker->table.count++][1] = FRAMES + maker->frames + cie;
	maker->frames += size;
	return 0;
}

static int add_code(struct maker *maker, unsigned variant)
{
	size_t code_offset = variant % 7 * 64; /* variants have functions at different places */

	for (int i = 0; i < JP_OBJECT_FUNCTIONS; i++) {
		enum jp_shape shape = maker->kind->shapes[(i + variant) % JP_OBJECT_FUNCTIONS];
		bool has_cfi =
			maker->kind->frames == JP_FRAMES_ALL ||
			(maker->kind->frames == JP_FRAMES_LAST && i + 1 == JP_OBJECT_FUNCTIONS);
		struct jp_emitted emitted;
		int ret = jp_shape_emit(shape, maker->bytes + count_bytes(TEXT) + code_offset,
					TEXT_ROOM - code_offset, &emitted);

		if (!ret && has_cfi)
			ret = add_frames(maker, &emitted, count_bytes(TEXT_ADDR) + code_offset);
		if (ret)
			return ret;
		maker->object->functions[i] =
			(struct jp_function){.shape = shape,
					     .cfi_status = has_cfi ? JP_CFI_RIGHT : JP_CFI_ABSENT,
					     .code = count_bytes(TEXT_ADDR) + code_offset,
					     .size = emitted.size,
					     .word = emitted.word ? maker->kind->word : 0,
					     .word_at = emitted.word};
		if (emitted.word)
			memcpy(maker->bytes + count_bytes(TEXT) + code_offset + emitted.word,
			       &maker->kind->word, sizeof(maker->kind->word));
		code_offset = (code_offset + emitted.size + 15 + variant % 5 * 16) & -16;
		if (code_offset > TEXT_ROOM)
			return -ENOSPC;
	}
	maker->object->text_at = count_bytes(TEXT);
	maker->object->text_addr = count_bytes(TEXT_ADDR);
	maker->object->text_size = (code_offset + count_bytes(1) - 1) & -count_bytes(1);
	return 0;
}

/* Writes .eh_frame_hdr, the table from addresses to entries. Returns its file offset. */
static size_t add_table(struct maker *maker)
{
	size_t table_offset = (FRAMES + maker->frames + 4 + 7) & -8;

	maker->table.version = 1;
	maker->table.frame_encoding = 0x1b; /* relative to itself, 4 bytes */
	maker->table.count_encoding = 0x03;
	maker->table.table_encoding = 0x3b; /* relative to the table */
	maker->table.frame = FRAMES - (int)(table_offset + 4);
	for (uint32_t i = 0; i < maker->table.count; i++)
		for (int k = 0; k < 2; k++)
			maker->table.rows[i][k] -= table_offset;
	memcpy(maker->bytes + table_offset, &maker->table, sizeof(maker->table));
	return table_offset;
}

/* Derives the build id from the text, so that no two files share a build id. */
static void add_id(struct maker *maker, struct file *file, unsigned variant)
{
	uint64_t hash = 0xcbf29ce484222325 ^ jp_handshake_setup()->seed ^ (uint64_t)variant << 32;

	for (size_t i = 0; i < TEXT_ROOM; i++)
		hash = (hash ^ maker->bytes[count_bytes(TEXT) + i]) * 0x100000001b3;
	for (int i = 0; i < ID; i++) {
		hash = (hash ^ i) * 0x100000001b3;
		file->id[i] = hash >> 32;
		sprintf(maker->object->build_id + 2 * i, "%02x", file->id[i]);
	}
}

static void add_dynamic(struct maker *maker)
{
	const ElfW(Dyn) dynamic[DYNAMIC_ENTRIES] = {
		{DT_HASH, {offsetof(struct file, hash)}}, /* musl requires a hash table */
		{DT_SYMTAB, {offsetof(struct file, symbol)}},
		{DT_SYMENT, {sizeof(ElfW(Sym))}},
		{DT_STRTAB, {offsetof(struct file, strings)}},
		{DT_STRSZ, {sizeof(((struct file *)0)->strings)}},
		{DT_NULL, {0}},
	};

	memcpy(maker->bytes + count_bytes(DYNAMIC), dynamic, sizeof(dynamic));
}

/* The fields of 32-bit files have another order. */
static ElfW(Phdr) segment(uint32_t type, uint32_t flags, size_t offset, size_t addr, size_t size,
			  size_t align)
{
	return (ElfW(Phdr)){.p_type = type,
			    .p_flags = flags,
			    .p_offset = offset,
			    .p_vaddr = addr,
			    .p_paddr = addr,
			    .p_filesz = size,
			    .p_memsz = size,
			    .p_align = align};
}

static void add_headers(struct maker *maker, unsigned variant, size_t table)
{
	const size_t note = offsetof(struct file, note);
	const size_t note_size = offsetof(struct file, id) + ID - note;
	const uint32_t frames = maker->kind->frames == JP_FRAMES_NONE ? PT_NULL : PT_GNU_EH_FRAME;
	struct file *file = (struct file *)maker->bytes;

	*file = (struct file){
		.elf = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				    sizeof(uintptr_t) == 8 ? ELFCLASS64 : ELFCLASS32,
				    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
									      : ELFDATA2MSB,
				    EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = jp_arch_elf.machine,
			.e_flags = jp_arch_elf.flags,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct file, headers),
			.e_ehsize = sizeof(ElfW(Ehdr)),
			.e_phentsize = sizeof(ElfW(Phdr)),
			.e_phnum = HEADERS,
			.e_shentsize = sizeof(ElfW(Shdr))},
		.headers = {segment(PT_LOAD, PF_R, 0, 0, count_bytes(TEXT), count_bytes(1)),
			    segment(PT_LOAD, PF_R | PF_X, count_bytes(TEXT), count_bytes(TEXT_ADDR),
				    maker->object->text_size, count_bytes(1)),
			    segment(PT_LOAD, PF_R | PF_W, count_bytes(DYNAMIC),
				    count_bytes(DYNAMIC_ADDR), count_bytes(1), count_bytes(1)),
			    segment(PT_DYNAMIC, PF_R | PF_W, count_bytes(DYNAMIC),
				    count_bytes(DYNAMIC_ADDR), DYNAMIC_ENTRIES * sizeof(ElfW(Dyn)),
				    sizeof(uintptr_t)),
			    segment(PT_NOTE, PF_R, note, note, note_size, 4),
			    segment(frames, PF_R, table, table, sizeof(struct object_table), 4),
			    /* Without this header the loader makes all stacks executable. */
			    segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 16)},
		.note = {4, ID, NT_GNU_BUILD_ID},
		.note_name = "GNU",
		.hash = {1, 1},
	};
	add_id(maker, file, variant);
}

static int write_file(const char *path, const unsigned char *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755), ret;

	if (fd < 0)
		return -errno;
	ret = jp_file_write(fd, bytes, count_bytes(FILE_PAGES));
	if (close(fd) && !ret)
		ret = -errno;
	if (ret)
		unlink(path);
	return ret;
}

int jp_object_write(struct jp_object *object, const char *path, unsigned variant,
		    const struct jp_object_kind *kind)
{
	struct maker maker = {.bytes = calloc(1, count_bytes(FILE_PAGES)),
			      .object = object,
			      .kind = kind ?: &mixed};
	int ret;

	_Static_assert(sizeof(struct file) <= FRAMES, "the headers end before .eh_frame");
	if (!maker.bytes)
		return -ENOMEM;
	memset(object, 0, sizeof(*object));
	object->mixed = !kind;
	ret = add_code(&maker, variant);
	if (!ret) {
		add_headers(&maker, variant, add_table(&maker));
		add_dynamic(&maker);
		ret = write_file(path, maker.bytes);
	}
	free(maker.bytes);
	return ret;
}

/* Records the text and the functions that were loaded within [@before, @after] (ns), and makes
 * paths of the usual mix. */
static int record_code(const struct jp_object *object, const char *path, uint64_t before,
		       uint64_t after, struct jp_loaded *loaded)
{
	const struct jp_function *order[JP_OBJECT_FUNCTIONS];
	unsigned first = 0;
	char memfd[64];
	int ret = 0;

	snprintf(memfd, sizeof(memfd), "/memfd:%s (deleted)", object->memfd ?: "");
	jp_truth_map(before, after,
		     &(struct jp_truth_mapping){.addr = loaded->addr,
						.len = loaded->size,
						.prot = JP_PROT_READ | JP_PROT_EXEC,
						.backing = object->memfd ? JP_BACKING_MEMFD
									 : JP_BACKING_FILE,
						.name = jp_truth_text(object->memfd ?: path),
						.offset = object->text_at});
	for (int i = 0; i < JP_OBJECT_FUNCTIONS; i++) {
		struct jp_function *function = &loaded->functions[i];
		char name[64];

		*function = object->functions[i];
		function->code += loaded->addr - object->text_addr;
		snprintf(name, sizeof(name), "object_%.8s_%s_%d", object->build_id,
			 jp_shape_text(function->shape), i);
		ret = jp_emit_record(function, name, before, after);
		if (ret)
			return ret;
		if (function->shape == JP_SHAPE_LEAF)
			first = i + 1;
	}
	/* The last function of a path calls no others. */
	for (int i = 0; i < JP_OBJECT_FUNCTIONS; i++)
		order[i] = &loaded->functions[(first + i) % JP_OBJECT_FUNCTIONS];
	for (int i = 0; object->mixed && i < JP_OBJECT_PATHS && !ret; i++)
		ret = jp_path_make(&loaded->paths[i], order + i, JP_OBJECT_FUNCTIONS - i, 700000);
	return ret ?: jp_image_record(loaded->addr, object->memfd ? memfd : path, object->build_id);
}

#ifdef LM_ID_NEWLM
enum { COPIES = true };
#else
enum { COPIES = false };
#define dlmopen(space, path, flags) NULL
#endif

bool jp_object_can_copy(void)
{
	return COPIES;
}

int jp_object_load(const struct jp_object *object, const char *path, int again,
		   struct jp_loaded *loaded)
{
	uint64_t before = jp_clock_now(), after;
	const struct link_map *map;
	int ret;

	memset(loaded, 0, sizeof(*loaded));
	loaded->handle = again ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, RTLD_NOW);
	after = jp_clock_now();
	if (!loaded->handle) {
		fprintf(stderr, "jitproof workload: %s\n", dlerror());
		return -ELIBACC;
	}
	map = loaded->handle;
	loaded->addr = map->l_addr + object->text_addr;
	loaded->size = object->text_size;
	ret = record_code(object, path, before, after, loaded);
	jp_maps_record_all();
	if (ret)
		jp_object_unload(loaded);
	return ret;
}

int jp_object_unload(struct jp_loaded *loaded)
{
	uint64_t before = jp_clock_now(), after;

	if (dlclose(loaded->handle)) {
		fprintf(stderr, "jitproof workload: %s\n", dlerror());
		return -ELIBACC;
	}
	after = jp_clock_now();
	if (COPIES)
		jp_truth_unmap(before, after, loaded->addr, loaded->size);
	jp_maps_record_all();
	for (int i = 0; i < JP_OBJECT_FUNCTIONS; i++)
		if (loaded->functions[i].id)
			jp_truth_code_unload(before, after, loaded->functions[i].id);
	for (int i = 0; i < JP_OBJECT_PATHS; i++)
		jp_path_free(&loaded->paths[i]);
	memset(loaded, 0, sizeof(*loaded));
	return 0;
}
