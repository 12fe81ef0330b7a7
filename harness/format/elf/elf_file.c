// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/search.h"
#include "harness/base/shortage.h"
#include "harness/format/elf/elf_image.h"

enum {
	MAX_SEGMENTS = 4096,
	MAX_SECTIONS = 65536,
	MAX_NOTES = 1 << 20,
	MAX_NAMES = 1 << 28,
	MAX_FRAME = 1 << 29, /* the largest programs have some 30 MB of .eh_frame */
};

struct source {
	Elf *elf;
	struct jp_elf_parts parts; /* tables belong to libelf */
};

static int source_open(struct source *source, int fd, const void *image, size_t size,
		       struct jp_error *err)
{
	memset(source, 0, sizeof(*source));
	errno = 0; /* what the library was short of is noted when the file is closed */
	elf_version(EV_CURRENT);
	source->elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : elf_memory((char *)image, size);
	if (!source->elf || elf_kind(source->elf) != ELF_K_ELF ||
	    !gelf_getehdr(source->elf, &source->parts.head))
		return jp_fail(err, EINVAL, "not an ELF file");
	if (source->parts.head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    source->parts.head.e_ident[EI_DATA] != ELFDATA2LSB)
		return jp_fail(err, EINVAL,
			       "an ELF file of class %d and byte order %d; only "
			       "64-bit little endian is read",
			       source->parts.head.e_ident[EI_CLASS],
			       source->parts.head.e_ident[EI_DATA]);
	if (elf_getphdrnum(source->elf, &source->parts.nr_segments))
		return jp_fail(err, EINVAL, "ELF file without readable program headers: %s",
			       elf_errmsg(-1));
	if (source->parts.nr_segments > MAX_SEGMENTS)
		return jp_fail(err, EINVAL,
			       "ELF file with %zu program headers; at most %d are read",
			       source->parts.nr_segments, MAX_SEGMENTS);
	source->parts.segments =
		calloc(source->parts.nr_segments + 1, sizeof(*source->parts.segments));
	if (!source->parts.segments)
		return jp_fail(err, ENOMEM, "no memory for program headers");
	for (size_t i = 0; i < source->parts.nr_segments; i++)
		if (!gelf_getphdr(source->elf, i, &source->parts.segments[i]))
			return jp_fail(err, EINVAL, "ELF program header %zu: %s", i,
				       elf_errmsg(-1));
	return 0;
}

#define CLOSED_AT_END __attribute__((cleanup(source_close)))
static void source_close(struct source *source)
{
	jp_shortage_note(errno);
	free(source->parts.segments);
	elf_end(source->elf);
}

static bool note_build_id(Elf_Data *data, struct jp_build_id *id)
{
	size_t next, name, desc, offset = 0;
	GElf_Nhdr note;

	while (data && (next = gelf_getnote(data, offset, &note, &name, &desc)) > 0) {
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp((char *)data->d_buf + name, "GNU", 4) == 0 && note.n_descsz > 0 &&
		    note.n_descsz <= sizeof(id->bytes)) {
			id->size = note.n_descsz;
			memcpy(id->bytes, (char *)data->d_buf + desc, id->size);
			return true;
		}
		offset = next;
	}
	return false;
}

/* Sections first: in the copies, only they say where the note lies. */
static bool source_build_id(struct source *source, struct jp_build_id *id)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	size_t count = 0;

	memset(id, 0, sizeof(*id));
	while ((section = elf_nextscn(source->elf, section)) && count++ < MAX_SECTIONS)
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_NOTE &&
		    head.sh_size <= MAX_NOTES && note_build_id(elf_getdata(section, NULL), id))
			return true;
	for (size_t i = 0; i < source->parts.nr_segments; i++) {
		const GElf_Phdr *segment = &source->parts.segments[i];

		if (segment->p_type == PT_NOTE && segment->p_filesz <= MAX_NOTES &&
		    note_build_id(
			    elf_getdata_rawchunk(source->elf, segment->p_offset, segment->p_filesz,
						 segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
			    id))
			return true;
	}
	return false;
}

static bool take(struct jp_cfi_section *section, Elf_Data *data, uint64_t addr)
{
	if (!data || !data->d_buf || !data->d_size)
		return false;
	section->bytes = data->d_buf;
	section->size = data->d_size;
	section->addr = addr;
	return true;
}

static void frame_by_sections(struct source *source)
{
	Elf_Scn *section = NULL;
	size_t strings, count = 0;
	GElf_Shdr head;

	if (elf_getshdrstrndx(source->elf, &strings) || !strings)
		return;
	while ((section = elf_nextscn(source->elf, section)) && count++ < MAX_SECTIONS) {
		const char *name;

		if (!gelf_getshdr(section, &head) || head.sh_type == SHT_NOBITS ||
		    head.sh_flags & SHF_COMPRESSED || head.sh_size > MAX_FRAME)
			continue;
		name = elf_strptr(source->elf, strings, head.sh_name);
		if (!name)
			continue;
		if (!source->parts.frame.bytes && strcmp(name, ".eh_frame") == 0)
			take(&source->parts.frame, elf_rawdata(section, NULL), head.sh_addr);
		else if (!source->parts.index.bytes && strcmp(name, ".eh_frame_hdr") == 0)
			take(&source->parts.index, elf_rawdata(section, NULL), head.sh_addr);
	}
}

/* Without section headers: the segment PT_GNU_EH_FRAME is .eh_frame_hdr, which says where
 * .eh_frame starts; it ends with its segment at the latest. */
static void frame_by_segments(struct source *source)
{
	uint64_t addr;
	int32_t offset;

	for (size_t i = 0; i < source->parts.nr_segments; i++) {
		const GElf_Phdr *segment = &source->parts.segments[i];

		if (segment->p_type == PT_GNU_EH_FRAME && segment->p_filesz <= MAX_FRAME)
			take(&source->parts.index,
			     elf_getdata_rawchunk(source->elf, segment->p_offset, segment->p_filesz,
						  ELF_T_BYTE),
			     segment->p_vaddr);
	}
	if (source->parts.index.size < 8 || memcmp(source->parts.index.bytes, "\x01\x1b", 2) != 0)
		return;
	memcpy(&offset, source->parts.index.bytes + 4, 4);
	addr = source->parts.index.addr + 4 + (int64_t)offset;
	for (size_t i = 0; i < source->parts.nr_segments; i++) {
		const GElf_Phdr *segment = &source->parts.segments[i];
		uint64_t into = addr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && addr >= segment->p_vaddr &&
		    into < segment->p_filesz && segment->p_filesz - into <= MAX_FRAME)
			take(&source->parts.frame,
			     elf_getdata_rawchunk(source->elf, segment->p_offset + into,
						  segment->p_filesz - into, ELF_T_BYTE),
			     addr);
	}
	/* What follows the terminator is something else. */
	for (size_t at = 0; source->parts.frame.size - at >= 4;) {
		uint32_t length;

		memcpy(&length, source->parts.frame.bytes + at, 4);
		if (length == 0 || length > source->parts.frame.size - at - 4) {
			source->parts.frame.size = at;
			break;
		}
		at += 4 + (size_t)length;
	}
}

/* Files that perf makes of a jitdump have sections but no program headers: their code as a segment.
 */
static void segments_by_sections(struct source *source)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(source->elf, section)) && !source->parts.nr_segments)
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_PROGBITS &&
		    head.sh_flags & SHF_EXECINSTR) /* there is room for one */
			source->parts.segments[source->parts.nr_segments++] = (GElf_Phdr){
				.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = head.sh_offset,
				.p_vaddr = head.sh_addr,
				.p_paddr = head.sh_addr,
				.p_filesz = head.sh_size,
				.p_memsz = head.sh_size,
				.p_align = 1,
			};
}

int jp_elf_extract(int fd, const void *image, size_t size, struct jp_elf_image *out,
		   struct jp_error *err)
{
	CLOSED_AT_END struct source source;
	int ret = source_open(&source, fd, image, size, err);

	memset(out, 0, sizeof(*out));
	if (ret)
		return ret;
	source_build_id(&source, &out->id);
	frame_by_sections(&source);
	if (!source.parts.frame.bytes)
		frame_by_segments(&source);
	if (!source.parts.frame.bytes || !source.parts.frame.size)
		return jp_fail(err, ENODATA, "ELF file without .eh_frame");
	if (!source.parts.nr_segments)
		segments_by_sections(&source);
	return jp_elf_image_make(&source.parts, out, err);
}

int jp_elf_build_id(int fd, const void *image, size_t size, struct jp_build_id *id,
		    struct jp_error *err)
{
	CLOSED_AT_END struct source source;
	int ret = source_open(&source, fd, image, size, err);

	memset(id, 0, sizeof(*id));
	if (ret == 0 && !source_build_id(&source, id))
		ret = jp_fail(err, ENODATA, "ELF file without a build id");
	return ret;
}

/* Where the byte at @vaddr stands in the file: by segments, or where there are none by sections. */
static bool offset_of(const struct source *source, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < source->parts.nr_segments; i++) {
		const GElf_Phdr *segment = &source->parts.segments[i];

		if (segment->p_type != PT_LOAD || vaddr < segment->p_vaddr ||
		    vaddr - segment->p_vaddr >= segment->p_filesz)
			continue;
		*offset = vaddr - segment->p_vaddr + segment->p_offset;
		return true;
	}
	return false;
}

static int by_offset(const void *left, const void *right)
{
	const struct jp_elf_symbol *a = left, *b = right;

	return jp_compare(a->offset, b->offset);
}

/* The names are libelf's until keep_names(). */
static int take_symbols(const struct source *source, Elf_Data *data, const GElf_Shdr *head,
			struct jp_elf_symbols *out, size_t *length, struct jp_error *err)
{
	size_t count = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;

	if (!data || !count || count > data->d_size / sizeof(Elf64_Sym) || count > INT32_MAX)
		return jp_fail(err, EINVAL, "ELF symbol table of %" PRIu64 " bytes is not readable",
			       (uint64_t)head->sh_size);
	out->symbols = calloc(count, sizeof(*out->symbols));
	if (!out->symbols)
		return jp_fail(err, ENOMEM, "no memory for %zu symbols", count);
	for (size_t i = 0; i < count; i++) {
		struct jp_elf_symbol *symbol = &out->symbols[out->count];
		GElf_Sym raw;

		if (!gelf_getsym(data, (int)i, &raw))
			return jp_fail(err, EINVAL, "ELF symbol %zu: %s", i, elf_errmsg(-1));
		if (GELF_ST_TYPE(raw.st_info) != STT_FUNC || raw.st_shndx == SHN_UNDEF ||
		    !offset_of(source, raw.st_value, &symbol->offset))
			continue;
		symbol->size = raw.st_size;
		symbol->name = elf_strptr(source->elf, head->sh_link, raw.st_name);
		if (!symbol->name || symbol->offset + symbol->size < symbol->offset)
			return jp_fail(err, EINVAL,
				       "ELF symbol %zu: a name or size beyond the file", i);
		*length += strlen(symbol->name) + 1;
		/* Names may overlap, so that a small file's are long. */
		if (*length > MAX_NAMES)
			return jp_fail(err, E2BIG, "ELF symbols: names of more than %d bytes",
				       MAX_NAMES);
		out->count++;
	}
	return 0;
}

static int keep_names(struct jp_elf_symbols *out, size_t length, struct jp_error *err)
{
	char *at = malloc(length + 1);

	if (!at)
		return jp_fail(err, ENOMEM, "no memory for %zu bytes of names", length);
	out->names = at;
	for (size_t i = 0; i < out->count; i++) {
		const char *name = out->symbols[i].name;

		out->symbols[i].name = at;
		at = stpcpy(at, name) + 1;
	}
	return 0;
}

int jp_elf_symbols(int fd, struct jp_elf_symbols *symbols, struct jp_error *err)
{
	CLOSED_AT_END struct source source;
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	size_t count = 0, length = 0;
	int ret = source_open(&source, fd, NULL, 0, err);

	memset(symbols, 0, sizeof(*symbols));
	if (ret == 0 && !source.parts.nr_segments)
		segments_by_sections(&source);
	while (ret == 0 && (section = elf_nextscn(source.elf, section)) && count++ < MAX_SECTIONS) {
		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_SYMTAB)
			continue;
		ret = take_symbols(&source, elf_getdata(section, NULL), &head, symbols, &length,
				   err);
		break;
	}
	if (ret == 0)
		ret = keep_names(symbols, length, err);
	if (ret)
		jp_elf_symbols_free(symbols);
	else if (symbols->count)
		qsort(symbols->symbols, symbols->count, sizeof(*symbols->symbols), by_offset);
	return ret;
}

void jp_elf_symbols_free(struct jp_elf_symbols *symbols)
{
	free(symbols->symbols);
	free(symbols->names);
	memset(symbols, 0, sizeof(*symbols));
}
