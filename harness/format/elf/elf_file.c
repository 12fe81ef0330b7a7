// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/elf/elf_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "harness/format/elf/elf_source.h"

enum {
	MAX_NOTES = 1 << 20,
	MAX_FRAME = 1 << 29, /* bytes; the largest programs have some 30 MB of .eh_frame */
};

static bool read_build_id(Elf_Data *data, struct jp_build_id *id)
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

/* Finds the build id. Searches sections before segments, because in the copies that jp_elf_save()
 * makes only sections locate the note. */
static bool find_build_id(struct jp_elf_source *source, struct jp_build_id *id)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	size_t count = 0;

	memset(id, 0, sizeof(*id));
	while ((section = elf_nextscn(source->elf, section)) && count++ < JP_ELF_MAX_SECTIONS)
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_NOTE &&
		    head.sh_size <= MAX_NOTES && read_build_id(elf_getdata(section, NULL), id))
			return true;
	for (size_t i = 0; i < source->parts.nr_segments; i++) {
		const GElf_Phdr *segment = &source->parts.segments[i];

		if (segment->p_type == PT_NOTE && segment->p_filesz <= MAX_NOTES &&
		    read_build_id(
			    elf_getdata_rawchunk(source->elf, segment->p_offset, segment->p_filesz,
						 segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
			    id))
			return true;
	}
	return false;
}

static void set_section(struct jp_cfi_section *section, Elf_Data *data, uint64_t addr)
{
	if (!data || !data->d_buf || !data->d_size)
		return;
	section->bytes = data->d_buf;
	section->size = data->d_size;
	section->addr = addr;
}

static void find_frame_by_sections(struct jp_elf_source *source)
{
	Elf_Scn *section = NULL;
	size_t strings, count = 0;
	GElf_Shdr head;

	if (elf_getshdrstrndx(source->elf, &strings) || !strings)
		return;
	while ((section = elf_nextscn(source->elf, section)) && count++ < JP_ELF_MAX_SECTIONS) {
		const char *name;

		if (!gelf_getshdr(section, &head) || head.sh_type == SHT_NOBITS ||
		    head.sh_flags & SHF_COMPRESSED || head.sh_size > MAX_FRAME)
			continue;
		name = elf_strptr(source->elf, strings, head.sh_name);
		if (!name)
			continue;
		if (!source->parts.frame.bytes && strcmp(name, ".eh_frame") == 0)
			set_section(&source->parts.frame, elf_rawdata(section, NULL), head.sh_addr);
		else if (!source->parts.index.bytes && strcmp(name, ".eh_frame_hdr") == 0)
			set_section(&source->parts.index, elf_rawdata(section, NULL), head.sh_addr);
	}
}

/* Finds the tables without section headers. The segment PT_GNU_EH_FRAME is .eh_frame_hdr, which
 * contains the address of .eh_frame; .eh_frame ends at the end of its segment at the latest. */
static void find_frame_by_segments(struct jp_elf_source *source)
{
	uint64_t addr;
	int32_t offset;

	for (size_t i = 0; i < source->parts.nr_segments; i++) {
		const GElf_Phdr *segment = &source->parts.segments[i];

		if (segment->p_type == PT_GNU_EH_FRAME && segment->p_filesz <= MAX_FRAME)
			set_section(&source->parts.index,
				    elf_getdata_rawchunk(source->elf, segment->p_offset,
							 segment->p_filesz, ELF_T_BYTE),
				    segment->p_vaddr);
	}
	if (source->parts.index.size < 8 || memcmp(source->parts.index.bytes, "\x01\x1b", 2) != 0)
		return;
	memcpy(&offset, source->parts.index.bytes + 4, 4);
	addr = source->parts.index.addr + 4 + (int64_t)offset;
	for (size_t i = 0; i < source->parts.nr_segments; i++) {
		const GElf_Phdr *segment = &source->parts.segments[i];
		uint64_t offset_in_segment = addr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && addr >= segment->p_vaddr &&
		    offset_in_segment < segment->p_filesz &&
		    segment->p_filesz - offset_in_segment <= MAX_FRAME)
			set_section(&source->parts.frame,
				    elf_getdata_rawchunk(
					    source->elf, segment->p_offset + offset_in_segment,
					    segment->p_filesz - offset_in_segment, ELF_T_BYTE),
				    addr);
	}
	/* Data after the terminator does not belong to .eh_frame. */
	for (size_t entry = 0; source->parts.frame.size - entry >= 4;) {
		uint32_t length;

		memcpy(&length, source->parts.frame.bytes + entry, 4);
		if (length == 0 || length > source->parts.frame.size - entry - 4) {
			source->parts.frame.size = entry;
			break;
		}
		entry += 4 + (size_t)length;
	}
}

int jp_elf_extract(int fd, const void *image, size_t size, struct jp_elf_image *out,
		   struct jp_error *err)
{
	JP_ELF_CLOSED_AT_END struct jp_elf_source source;
	int ret = jp_elf_source_open(&source, fd, image, size, err)
			  ?: jp_elf_source_check_class(&source, err);

	memset(out, 0, sizeof(*out));
	if (ret)
		return ret;
	find_build_id(&source, &out->id);
	find_frame_by_sections(&source);
	if (!source.parts.frame.bytes)
		find_frame_by_segments(&source);
	if (!source.parts.frame.bytes || !source.parts.frame.size)
		return jp_fail(err, ENODATA, "ELF file without .eh_frame");
	if (!source.parts.nr_segments)
		jp_elf_source_add_segment(&source);
	return jp_elf_image_make(&source.parts, out, err);
}

int jp_elf_build_id(int fd, const void *image, size_t size, struct jp_build_id *id,
		    struct jp_error *err)
{
	JP_ELF_CLOSED_AT_END struct jp_elf_source source;
	int ret = jp_elf_source_open(&source, fd, image, size, err);

	memset(id, 0, sizeof(*id));
	if (ret == 0 && !find_build_id(&source, id))
		ret = jp_fail(err, ENODATA, "ELF file without a build id");
	return ret;
}
