/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef MPA_CRC_KERNELS_H
#define MPA_CRC_KERNELS_H

/**
 * @file mpa_crc_kernels.h
 * @brief The interface between mpa_crc.c and the files for one processor family. Other files do not
 * include it.
 */

#include "mpa_crc.h"

/**
 * @brief The section of functions that copy memory of an application: a page of it may be lost, and
 * vp/common/vsw_guard.c unwinds the stack from here. Such a function makes those accesses itself, and calls no function
 * of another section to make them.
 */
#define MPA_CRC_GUARDED section("vsw_guarded")

/**
 * @brief The kernels for x86-64 that this processor can run, those with wider registers first: they are the faster ones.
 * @param[in] index  0, 1, ...
 * @return NULL behind the last one, and always on other processors
 */
const struct mpa_crc_kernel *mpa_crc_x86_kernel_at(unsigned index);

#endif
