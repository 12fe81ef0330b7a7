# SPDX-License-Identifier: GPL-2.0-only
"""What runs of the matrix came to: ci/matrix store, report, compare and tools."""
