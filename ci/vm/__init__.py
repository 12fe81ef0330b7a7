# SPDX-License-Identifier: GPL-2.0-only
"""Kernels in virtual machines: ci/matrix run, ci/matrix kernels."""
