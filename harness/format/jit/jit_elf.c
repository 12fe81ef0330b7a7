// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/jit_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/cleanup.h"
#include "harness/base/file.h"
#include "harness/base/order.h"
#include "harness/base/output.h"
#include "harness/base/output_folder.h"
#include "harness/base/round.h"
#include "harness/base/sort.h"
#include "harness/format/jit/debug_line.h"
#include "harness/format/jit/jit_layout.h"
#include "harness/format/jit/jitdump_read.h"

enum { NOTHING, TEXT, FRAME, INDEX, NOTE, SYMBOLS, STRINGS, LINE, INFO, ABBREV, NAMES, SECTIONS };
enum { LOAD, NOTES, EH_FRAME, SEGMENTS };

static const char names[] = "\0.text\0.eh_frame\0.eh_frame_hdr\0.note.gnu.build-id\0.symtab\0"
			    ".strtab\0.debug_line\0.debug_info\0.debug_abbrev\0.shstrtab";
static const uint32_t name_at[SECTIONS] = {0, 1, 7, 17, 31, 50, 58, 66, 78, 90, 104};

struct note {
	uint32_t name_size, size, type;
	char name[4];
	unsigned char id[20];
};

/* An ELF file while it is built. */
struct build {
	const struct jp_jit_function *const *functions; /* in the order of the file */
	size_t count;
	struct jp_jit_frames frames;
	struct jp_debug_line lines;
	struct jp_bytes contents[SECTIONS]; /* contents of the sections after the code */
	Elf64_Shdr heads[SECTIONS];
	uint64_t text, end; /* range of the code in the file */
};

static void add_symbols(struct build *build)
{
	struct jp_bytes *symbols = &build->contents[SYMBOLS], *strings = &build->contents[STRINGS];
	Elf64_Sym symbol = {0};

	jp_bytes_reserve(symbols, (build->count + 1) * sizeof(symbol));
	jp_bytes_add(symbols, &symbol, sizeof(symbol));
	jp_bytes_add8(strings, 0);
	symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	symbol.st_shndx = TEXT;
	for (size_t i = 0; i < build->count; i++) {
		const struct jp_jit_function *function = build->functions[i];

		symbol.st_name = strings->size;
		symbol.st_value = function->offset;
		symbol.st_size = function->size;
		jp_bytes_add(symbols, &symbol, sizeof(symbol));
		jp_bytes_add(strings, function->name, strlen(function->name) + 1);
	}
}

JP_ORDER(compare_by_row_addr, struct jp_line_row, jp_compare(a->addr, b->addr));

/* Adds the line rows of @function, relocated to its address in the file. Drops rows outside of the
 * function. */
static void add_lines(struct build *build, const struct jp_jit_function *function)
{
	const struct jp_jitdump_record record = {
		.debug = {.count = function->nr_lines,
			  .entries = function->lines,
			  .size = function->lines_size},
	};
	size_t cursor = 0, count = 0, capacity = function->nr_lines;
	struct jp_line_row *rows;
	struct jp_jitdump_line line;
	bool is_sorted = true;

	if (!function->lines)
		return;
	rows = malloc(capacity * sizeof(*rows));
	if (!rows) {
		build->lines.files.failed = true;
		return;
	}
	while (count < capacity && jp_jitdump_next_line(&record, &cursor, &line)) {
		uint64_t offset = line.addr - function->lines_base;

		if (offset >= function->size || line.line < 0)
			continue;
		rows[count] = (struct jp_line_row){function->offset + offset, line.line, line.file};
		is_sorted &= !count || rows[count - 1].addr <= rows[count].addr;
		count++;
	}
	if (!is_sorted)
		jp_sort(rows, count, compare_by_row_addr);
	jp_debug_line_add(&build->lines, function->offset, function->size, rows, count);
	free(rows);
}

static void add_contents(struct build *build)
{
	const uint64_t frame = jp_round_up_to_words(build->end);
	uint64_t index;

	for (size_t i = 0; i < build->count; i++) {
		jp_jit_frames_add(&build->frames, build->functions[i], frame);
		add_lines(build, build->functions[i]);
	}
	/* Write the unwinding tables even without a record: libunwind follows frame pointers at
	 * addresses that tables do not cover, but stops where there are no tables. V8 writes empty
	 * tables for that reason. */
	index = (frame + build->frames.frame.size + 4 + 3) & ~UINT64_C(3);
	jp_jit_frames_end(&build->frames, frame, index);
	build->contents[FRAME] = build->frames.frame;
	build->contents[INDEX] = build->frames.index;
	build->frames.frame = build->frames.index = (struct jp_bytes){0};
	add_symbols(build);
	jp_debug_line_end(&build->lines, &build->contents[LINE], &build->contents[INFO],
			  &build->contents[ABBREV]);
	jp_bytes_add(&build->contents[NAMES], names, sizeof(names));
}

/* Hashes bytes for the build id. Not safe against deliberate collisions. */
static uint64_t mix_bytes(uint64_t hash, const unsigned char *bytes, size_t size)
{
	const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * prime;
		hash ^= hash >> 29;
	}
	word = size;
	memcpy(&word, bytes, size);
	hash = (hash ^ word ^ (uint64_t)size << 56) * prime;
	return hash ^ hash >> 32;
}

/* Computes the build id from all contents of the file, and adds its note. */
static void add_build_id(struct build *build, struct jp_build_id *id)
{
	struct note note = {4, sizeof(note.id), NT_GNU_BUILD_ID, "GNU", {0}};
	uint64_t words[3];

	for (unsigned int lane = 0; lane < 3; lane++) {
		uint64_t hash = lane + 1;

		/* The first hash covers all bytes; each further one covers the result of the
		 * previous one. */
		for (size_t i = 0; lane == 0 && i < build->count; i++) {
			hash = mix_bytes(hash ^ build->functions[i]->offset,
					 build->functions[i]->code, build->functions[i]->size);
		}
		for (int i = FRAME; lane == 0 && i < NAMES; i++)
			hash = mix_bytes(hash,
					 build->contents[i].bytes ? build->contents[i].bytes
								  : (const unsigned char *)"",
					 build->contents[i].size);
		if (lane)
			hash = mix_bytes(words[lane - 1], (const unsigned char *)&hash,
					 sizeof(hash));
		words[lane] = hash;
	}
	memcpy(note.id, words, sizeof(note.id));
	jp_bytes_add(&build->contents[NOTE], &note, sizeof(note));
	id->size = sizeof(note.id);
	memcpy(id->bytes, note.id, sizeof(note.id));
}

/* Assigns offsets to the sections. In mapped sections, addresses equal offsets. Returns the offset
 * of the program headers, which the section headers follow. */
static uint64_t assign_offsets(struct build *build)
{
	static const Elf64_Shdr kinds[SECTIONS] = {
		[TEXT] = {.sh_type = SHT_PROGBITS,
			  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			  .sh_addralign = 16},
		[FRAME] = {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addralign = 8},
		[INDEX] = {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addralign = 4},
		[NOTE] = {.sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC, .sh_addralign = 4},
		[SYMBOLS] = {.sh_type = SHT_SYMTAB,
			     .sh_link = STRINGS,
			     .sh_info = 1, /* index of the first non-local symbol */
			     .sh_entsize = sizeof(Elf64_Sym),
			     .sh_addralign = 8},
		[STRINGS] = {.sh_type = SHT_STRTAB, .sh_addralign = 1},
		[LINE] = {.sh_type = SHT_PROGBITS, .sh_addralign = 1},
		[INFO] = {.sh_type = SHT_PROGBITS, .sh_addralign = 1},
		[ABBREV] = {.sh_type = SHT_PROGBITS, .sh_addralign = 1},
		[NAMES] = {.sh_type = SHT_STRTAB, .sh_addralign = 1},
	};
	uint64_t offset = build->end;

	for (int i = TEXT; i < SECTIONS; i++) {
		Elf64_Shdr *head = &build->heads[i];

		if (i > TEXT && !build->contents[i].size)
			continue;
		*head = kinds[i];
		head->sh_name = name_at[i];
		if (i == TEXT) {
			head->sh_offset = build->text;
			head->sh_size = build->end - build->text;
		} else {
			head->sh_offset = offset =
				(offset + kinds[i].sh_addralign - 1) & -kinds[i].sh_addralign;
			head->sh_size = build->contents[i].size;
			offset += head->sh_size;
		}
		if (head->sh_flags & SHF_ALLOC)
			head->sh_addr = head->sh_offset;
	}
	return jp_round_up_to_words(offset);
}

static Elf64_Phdr make_segment(uint32_t type, uint32_t flags, uint64_t offset, uint64_t size,
			       uint64_t align)
{
	return (Elf64_Phdr){.p_type = size ? type : PT_NULL,
			    .p_flags = flags,
			    .p_offset = offset,
			    .p_vaddr = offset,
			    .p_paddr = offset,
			    .p_filesz = size,
			    .p_memsz = size,
			    .p_align = align};
}

static void write_headers(const struct build *build, uint64_t heads, struct jp_output *output)
{
	const Elf64_Shdr *index = &build->heads[INDEX], *note = &build->heads[NOTE];
	const bool is_alone = build->text < 0x1000; /* jp_jit_layout() */
	/* In a file with a single function, the segment holds only that function: libdw, as perf
	 * uses it, must not find the next function within this module. */
	const uint64_t start = is_alone ? build->text : 0;
	const uint64_t end = is_alone ? build->end : index->sh_offset + index->sh_size;
	const Elf64_Phdr segments[SEGMENTS] = {
		[LOAD] = make_segment(PT_LOAD, PF_R | PF_X, start, end - start, 0x1000),
		[NOTES] = make_segment(PT_NOTE, PF_R, note->sh_offset, note->sh_size, 4),
		[EH_FRAME] =
			make_segment(PT_GNU_EH_FRAME, PF_R, index->sh_offset, index->sh_size, 4),
	};

	jp_output_pad(output, heads);
	jp_output_put(output, segments, sizeof(segments));
	jp_output_put(output, build->heads, sizeof(build->heads));
}

static void write_file(const struct build *build, uint16_t machine, uint64_t heads,
		       struct jp_output *output)
{
	const Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_phoff = heads,
		.e_shoff = heads + SEGMENTS * sizeof(Elf64_Phdr),
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = SEGMENTS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = NAMES,
	};

	jp_output_put(output, &head, sizeof(head));
	for (size_t i = 0; i < build->count; i++) {
		jp_output_pad(output, build->functions[i]->offset);
		jp_output_put(output, build->functions[i]->code, build->functions[i]->size);
	}
	for (int i = FRAME; i < SECTIONS; i++) {
		if (!build->contents[i].size)
			continue;
		jp_output_pad(output, build->heads[i].sh_offset);
		jp_output_put(output, build->contents[i].bytes, build->contents[i].size);
	}
	write_headers(build, heads, output);
}

static bool has_same_contents(int first_fd, int second_fd, uint64_t size)
{
	unsigned char a[512], b[512];

	for (uint64_t offset = 0; offset < size;) {
		const size_t piece = jp_min(size - offset, sizeof(a));

		if (jp_file_read_at(first_fd, "left", a, piece, offset, NULL) ||
		    jp_file_read_at(second_fd, "right", b, piece, offset, NULL) ||
		    memcmp(a, b, piece) != 0)
			return false;
		offset += piece;
	}
	return true;
}

/* Accepts an existing file called @name if its contents are equal to those in @fd: another run may
 * have written it. */
static int accept_existing(const char *name, int fd, struct stat *st, struct jp_error *err)
{
	jp_cleanup_close int existing = jp_output_folder_existing(name, NULL);
	struct stat our_stat;

	if (existing < 0 || fstat(existing, st) || fstat(fd, &our_stat) ||
	    st->st_size != our_stat.st_size || !has_same_contents(existing, fd, our_stat.st_size))
		return jp_fail(err, EEXIST,
			       "%s/%s: exists with other contents: it is not overwritten",
			       jp_output_folder_path(), name);
	return 0;
}

static int publish_file(const struct build *build, uint16_t machine, uint64_t heads,
			struct jp_jit_elf *elf, struct jp_error *err)
{
	jp_cleanup_close int fd = jp_output_folder_create(elf->name, err);
	struct jp_output *output;
	struct stat st;
	int copy, ret;

	if (fd < 0)
		return fd;
	copy = dup(fd);
	if (copy < 0)
		return jp_fail(err, errno, "%s: %s", elf->name, strerror(errno));
	output = jp_output_adopt(copy, elf->name, err);
	if (!output)
		return -ENOMEM;
	write_file(build, machine, heads, output);
	elf->size = jp_output_offset(output);
	ret = jp_output_close(output, err);
	if (ret)
		return ret;
	if (fstat(fd, &st))
		return jp_fail(err, errno, "%s: %s", elf->name, strerror(errno));
	ret = jp_output_folder_publish(elf->name, err);
	if (ret == -EEXIST)
		ret = accept_existing(elf->name, fd, &st, err);
	elf->maj = major(st.st_dev);
	elf->min = minor(st.st_dev);
	elf->ino = st.st_ino;
	return ret;
}

static void free_build(struct build *build)
{
	jp_jit_frames_free(&build->frames);
	jp_debug_line_free(&build->lines);
	for (int i = 0; i < SECTIONS; i++)
		jp_bytes_free(&build->contents[i]);
}

int jp_jit_elf_write(uint32_t pid, uint16_t machine, const struct jp_jit_function *const *functions,
		     size_t count, uint32_t file, struct jp_jit_elf *elf, struct jp_error *err)
{
	struct build build = {.functions = functions, .count = count};
	char id[2 * sizeof(elf->id.bytes) + 1];
	bool failed = false;
	uint64_t heads;
	int ret;

	*elf = (struct jp_jit_elf){0};
	build.text = functions[0]->offset;
	build.end = functions[count - 1]->offset + functions[count - 1]->size;
	add_contents(&build);
	for (int i = 0; i < SECTIONS; i++)
		failed |= build.contents[i].failed || build.contents[i].size > UINT32_MAX;
	if (failed) {
		free_build(&build);
		return jp_fail(err, ENOMEM, "out of memory for the code of process %u", pid);
	}
	add_build_id(&build, &elf->id);
	elf->bad_frames = build.frames.nr_bad;
	snprintf(elf->name, sizeof(elf->name), "jit-%u-%u.%.16s", pid, file,
		 jp_build_id_text(&elf->id, id));
	heads = assign_offsets(&build);
	elf->mapped_end = build.heads[INDEX].sh_offset + build.heads[INDEX].sh_size;
	ret = publish_file(&build, machine, heads, elf, err);
	free_build(&build);
	return ret;
}
