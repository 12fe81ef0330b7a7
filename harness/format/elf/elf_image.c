// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/elf/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/round.h"

/* Sections of the copies, in file order. */
enum { NOTHING, NOTE, INDEX, FRAME, NAMES, SECTIONS };
static const char names[] = "\0.note.gnu.build-id\0.eh_frame_hdr\0.eh_frame\0.shstrtab";
static const uint32_t name_at[SECTIONS] = {0, 1, 20, 34, 44};

/* Writes the copy: ELF header, program headers, contents of the sections, section headers. */
static int write_image(const struct jp_elf_parts *parts, struct jp_elf_image *out,
		       struct jp_error *err)
{
	size_t note_size = out->id.size ? 16 + out->id.size : 0, end;
	Elf64_Shdr heads[SECTIONS] = {
		[NOTE] = {.sh_type = note_size ? SHT_NOTE : SHT_NULL,
			  .sh_size = note_size,
			  .sh_addralign = 4},
		[INDEX] = {.sh_type = parts->index.bytes ? SHT_PROGBITS : SHT_NULL,
			   .sh_flags = SHF_ALLOC,
			   .sh_addr = parts->index.addr,
			   .sh_size = parts->index.size,
			   .sh_addralign = 4},
		[FRAME] = {.sh_type = SHT_PROGBITS,
			   .sh_flags = SHF_ALLOC,
			   .sh_addr = parts->frame.addr,
			   .sh_size = parts->frame.size,
			   .sh_addralign = 8},
		[NAMES] = {.sh_type = SHT_STRTAB, .sh_size = sizeof(names), .sh_addralign = 1},
	};
	const uint32_t note[] = {4, out->id.size, NT_GNU_BUILD_ID};
	Elf64_Ehdr head = parts->head;
	unsigned char *pos;

	end = sizeof(head) + parts->nr_segments * sizeof(Elf64_Phdr);
	for (int i = NOTE; i < SECTIONS; i++) {
		/* Leave a missing section without a name, so that no reader finds it by name. */
		heads[i].sh_name = heads[i].sh_type == SHT_NULL ? 0 : name_at[i];
		heads[i].sh_offset = end;
		end = jp_round_up_to_words(end + heads[i].sh_size);
	}
	head.e_ident[EI_CLASS] = ELFCLASS64; /* even if the image is a 32-bit file */
	head.e_phoff = sizeof(head);
	head.e_phentsize = sizeof(Elf64_Phdr);
	head.e_phnum = parts->nr_segments;
	head.e_shoff = end;
	head.e_shentsize = sizeof(Elf64_Shdr);
	head.e_shnum = SECTIONS;
	head.e_shstrndx = NAMES;
	head.e_ehsize = sizeof(head);
	out->size = end + sizeof(heads);
	out->bytes = calloc(1, out->size);
	if (!out->bytes)
		return jp_fail(err, ENOMEM, "out of memory for %zu bytes of .eh_frame", out->size);
	memcpy(out->bytes, &head, sizeof(head));
	if (parts->nr_segments)
		memcpy(out->bytes + sizeof(head), parts->segments,
		       parts->nr_segments * sizeof(Elf64_Phdr));
	pos = out->bytes + heads[NOTE].sh_offset;
	if (note_size) {
		memcpy(pos, note, sizeof(note));
		memcpy(pos + 12, "GNU", 4);
		memcpy(pos + 16, out->id.bytes, out->id.size);
	}
	if (parts->index.bytes)
		memcpy(out->bytes + heads[INDEX].sh_offset, parts->index.bytes, parts->index.size);
	memcpy(out->bytes + heads[FRAME].sh_offset, parts->frame.bytes, parts->frame.size);
	memcpy(out->bytes + heads[NAMES].sh_offset, names, sizeof(names));
	memcpy(out->bytes + end, heads, sizeof(heads));
	return 0;
}

static int list_code(const struct jp_elf_parts *parts, struct jp_elf_image *out,
		     struct jp_error *err)
{
	out->code = calloc(parts->nr_segments + 1, sizeof(*out->code));
	if (!out->code)
		return jp_fail(err, ENOMEM, "out of memory for program headers");
	for (size_t i = 0; i < parts->nr_segments; i++) {
		const Elf64_Phdr *segment = &parts->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			out->code[out->nr_code++] = (struct jp_elf_segment){
				segment->p_offset, segment->p_vaddr, segment->p_filesz};
	}
	return 0;
}

void jp_elf_image_free(struct jp_elf_image *image)
{
	free(image->bytes);
	free(image->code);
	memset(image, 0, sizeof(*image));
}

int jp_elf_image_make(struct jp_elf_parts *parts, struct jp_elf_image *out, struct jp_error *err)
{
	struct jp_cfi_sound checked;
	int ret = jp_cfi_check(&parts->frame, &parts->index, &checked, err);

	if (!checked.index)
		memset(&parts->index, 0, sizeof(parts->index));
	out->machine = parts->head.e_machine;
	out->functions = checked.functions;
	out->framed = checked.framed;
	if (ret == 0)
		ret = write_image(parts, out, err);
	if (ret == 0)
		ret = list_code(parts, out, err);
	if (ret)
		jp_elf_image_free(out);
	return ret;
}

int jp_elf_make_from_tables(uint16_t machine, const struct jp_elf_segment *code,
			    const struct jp_cfi_section *frame, const struct jp_cfi_section *index,
			    struct jp_elf_image *out, struct jp_error *err)
{
	Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = code->offset,
		.p_vaddr = code->vaddr,
		.p_paddr = code->vaddr,
		.p_filesz = code->size,
		.p_memsz = code->size,
		.p_align = 1,
	};
	struct jp_elf_parts parts = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = machine,
			 .e_version = EV_CURRENT},
		.segments = &segment,
		.nr_segments = 1,
		.frame = *frame,
	};

	memset(out, 0, sizeof(*out));
	if (index)
		parts.index = *index;
	return jp_elf_image_make(&parts, out, err);
}
