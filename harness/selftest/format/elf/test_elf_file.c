// SPDX-License-Identifier: GPL-2.0-only
/* Tests finding the build id and the call frame information of an ELF file, and the errors if they
 * are missing or the file cannot be read. */
#include <stddef.h>

#include "harness/format/elf/elf_file.h"
#include "harness/selftest/support/check.h"
#include "harness/selftest/support/made_elf.h"

static struct elf_made made;
static unsigned char note[64];

/* Puts a note at @offset, padded to words. Returns the offset after it. */
static size_t put_note(size_t offset, const char name[4], uint32_t type, uint32_t size)
{
	const uint32_t head[] = {4, size, type};

	memcpy(note + offset, head, sizeof(head));
	memcpy(note + offset + 12, name, 4);
	for (uint32_t i = 0; i < size; i++)
		note[offset + 16 + i] = (unsigned char)(i + 1);
	return offset + 16 + (size + 3) / 4 * 4;
}

static void begin_file(void)
{
	elf_made_add_code(&made, EM_X86_64, NULL, 0);
	memset(note, 0, sizeof(note));
}

/* Checks that the file has a build id of @size bytes or, if @size is 0, that the error reports that
 * it has none. */
static void check_id(unsigned int size, const char *label)
{
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_input file = elf_made_input(&made, &bytes);
	struct jp_error err = {""};
	struct jp_build_id id;
	int ret = jp_elf_build_id(-1, file.image, file.size, &id, &err);

	check(size ? !ret && id.size == size && id.bytes[size - 1] == size
		   : ret == -ENODATA && !id.size && strstr(err.text, "without a build id"),
	      "%s: %s", label, size ? "a build id" : err.text);
}

static void check_note(const char *name, uint32_t type, uint32_t id_size, unsigned int expected,
		       const char *label)
{
	size_t size;

	begin_file();
	size = put_note(0, name, type, id_size);
	elf_made_add_section(&made, ".note", SHT_NOTE, note, size);
	elf_made_end(&made);
	check_id(expected, label);
}

TEST(build_ids)
{
	size_t size;

	check_note("GNU", NT_GNU_BUILD_ID, 20, 20, "a build id in a note");
	check_note("GNU", NT_GNU_BUILD_ID, 1, 1, "a build id of 1 byte");
	check_note("GNU", NT_GNU_BUILD_ID, 0, 0, "a build id of 0 bytes");
	check_note("GNU", NT_GNU_BUILD_ID, 21, 0, "a build id of 21 bytes");
	check_note("XYZ", NT_GNU_BUILD_ID, 20, 0, "a note of another owner");
	check_note("GNU", NT_GNU_ABI_TAG, 16, 0, "a note of another type");
	begin_file();
	size = put_note(put_note(0, "GNU", NT_GNU_ABI_TAG, 4), "GNU", NT_GNU_BUILD_ID, 8);
	elf_made_add_section(&made, ".note", SHT_NOTE, note, size);
	elf_made_end(&made);
	check_id(8, "a build id behind another note");
	begin_file();
	put_note(0, "GNU", NT_GNU_BUILD_ID, 20);
	elf_made_add_section(&made, ".note", SHT_NOTE, note, 30);
	elf_made_end(&made);
	check_id(0, "a note cut off by its section");
	begin_file();
	size = (put_note(0, "GNU", NT_GNU_BUILD_ID, 20) + 7) & ~7ul;
	made.segments[0] = (Elf64_Phdr){.p_type = PT_NOTE,
					.p_offset = elf_made_put(&made, note, size),
					.p_filesz = size,
					.p_align = 4};
	elf_made_end_stripped(&made);
	check_id(20, "a note in a segment");
	made.segments[0].p_align = 8;
	memcpy(made.bytes + sizeof(Elf64_Ehdr), &made.segments[0], sizeof(made.segments[0]));
	check_id(20, "a note in a segment aligned to 8");
	made.segments[0].p_filesz = 2 << 20;
	memcpy(made.bytes + sizeof(Elf64_Ehdr), &made.segments[0], sizeof(made.segments[0]));
	check_id(0, "a note in a too large segment");
}

static void check_extraction(int result, const char *reason, const char *label)
{
	jp_cleanup_free unsigned char *bytes = NULL;
	struct jp_elf_input file = elf_made_input(&made, &bytes);
	struct jp_elf_image image;
	struct jp_error err = {""};
	int ret = jp_elf_extract(-1, file.image, file.size, &image, &err);

	check(ret == result && strstr(err.text, reason) && !image.bytes == !!ret, "%s: %s", label,
	      err.text);
	jp_elf_image_free(&image);
}

/* Every truncated copy is refused: the section headers are at the end. */
static void check_shorter_files(void)
{
	const size_t full_size = made.size;
	size_t nr_accepted = 0;

	while (made.size-- > 0) {
		jp_cleanup_free unsigned char *bytes = NULL;
		struct jp_elf_input file = elf_made_input(&made, &bytes);
		struct jp_elf_image image;

		nr_accepted += !jp_elf_extract(-1, file.image, file.size, &image, NULL);
	}
	check(!nr_accepted, "%zu truncated copies of %zu bytes are accepted", nr_accepted,
	      full_size);
}

TEST(frames)
{
	static const struct {
		const char *label, *bytes;
		uint32_t type, flags;
		size_t size;
		int result;
		const char *reason;
	} table[] = {
		{"an .eh_frame without bytes", NULL, SHT_NOBITS, 0, 4, -ENODATA,
		 "without .eh_frame"},
		{"a compressed .eh_frame", "\0\0\0", SHT_PROGBITS, SHF_COMPRESSED, 4, -ENODATA,
		 "ELF file without .eh_frame"},
		{"an empty .eh_frame", "", SHT_PROGBITS, 0, 0, -ENODATA,
		 "ELF file without .eh_frame"},
		{"a broken .eh_frame", "\xff\xff\xff\x7f", SHT_PROGBITS, 0, 4, -EINVAL,
		 ".eh_frame+0: a record of 0x7fffffff bytes"},
		{"an .eh_frame in a section", "\0\0\0", SHT_PROGBITS, 0, 4, 0, ""},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		begin_file();
		elf_made_add_section(&made, ".eh_frame", table[i].type, table[i].bytes,
				     table[i].size)
			->sh_flags |= table[i].flags;
		elf_made_end(&made);
		check_extraction(table[i].result, table[i].reason, table[i].label);
	}
	check_shorter_files();
	begin_file();
	elf_made_end_stripped(&made);
	check_extraction(-ENODATA, "ELF file without .eh_frame", "no sections");
}

/* Checks that .eh_frame is not found by the segment of @index alone. */
static void check_index_segment(const void *index, size_t size, const char *label)
{
	begin_file();
	made.segments[0] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					.p_offset = elf_made_put(&made, index, size),
					.p_filesz = size};
	elf_made_end_stripped(&made);
	check_extraction(-ENODATA, "ELF file without .eh_frame", label);
}

TEST(refusals)
{
	static const unsigned char zeros[5000 * sizeof(Elf64_Phdr)];
	uint16_t large_count = 5000;
	uint64_t offset;

	check_index_segment("\x01\x1b\x03\x3b\0\0\0\0", 8, "an index that leads to no segment");
	check_index_segment("\x01\x1b\x03", 3, "an index of three bytes");
	check_index_segment("\x01\x03\x03\x3b\0\0\0\0", 8, "an index of other encodings");
	begin_file();
	offset = elf_made_put(&made, zeros, sizeof(zeros));
	elf_made_end(&made);
	memcpy(made.bytes + offsetof(Elf64_Ehdr, e_phnum), &large_count, sizeof(large_count));
	memcpy(made.bytes + offsetof(Elf64_Ehdr, e_phoff), &offset, sizeof(offset));
	check_extraction(-EINVAL, "ELF file with 5000 program headers; at most 4096 are read",
			 "too many segments");
	begin_file();
	elf_made_end_stripped(&made);
	made.bytes[EI_DATA] = ELFDATA2MSB;
	check_extraction(-EINVAL, "an ELF file of class 2 and byte order 2; only little endian",
			 "another byte order");
	made.bytes[EI_DATA] = ELFDATA2LSB;
	made.bytes[EI_CLASS] = ELFCLASS32;
	memset(made.bytes + sizeof(Elf32_Ehdr) - 12, 0, 12);
	check_extraction(-ENODATA, "ELF file without .eh_frame", "a 32-bit file without sections");
	made.bytes[0] = 0;
	check_extraction(-EINVAL, "not an ELF file", "no ELF file");
}
