/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Messages of one size between two of our processes, with at most one descriptor (-1: none),
 * through a SOCK_SEQPACKET socket pair. Both functions return false if the other end is closed or
 * the message has another size. */
bool jp_message_send(int channel, const void *bytes, size_t size, int fd);
bool jp_message_receive(int channel, void *bytes, size_t size, int *fd);
