/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_WIRE_H
#define RI_WIRE_H

/**
 * @file ri_wire.h
 * @brief Cursors over a span of octets, with all bounds checks that a parser needs.
 *
 * A reader or a writer moves over memory that the caller owns and keeps for that long. Fields are big-endian, as
 * on the wire. The first access that does not fit clears `ok` and empties the cursor; from then on reads return 0
 * or NULL, and writes do nothing. So a parser is the list of its fields, and tests `ok` once at its end. The
 * functions allocate nothing, take no lock and do not fail otherwise. A cursor belongs to one thread at a time.
 *
 * wire_load_*() and wire_store_*() check no bounds, for code that has checked them before (the fast path). Their
 * addresses may have any alignment.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Byte order: one swap instruction where the host is little-endian, none elsewhere. */

/** @brief Convert 16 bits from host to network order, or back. */
static inline uint16_t
wire_swap16(uint16_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap16(v);
#else
	return v;
#endif
}

/** @brief Convert 32 bits from host to network order, or back. */
static inline uint32_t
wire_swap32(uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(v);
#else
	return v;
#endif
}

/** @brief Convert 64 bits from host to network order, or back. */
static inline uint64_t
wire_swap64(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap64(v);
#else
	return v;
#endif
}

/** @brief Read 2 octets at @p at, most significant first, unchecked. */
static inline uint16_t
wire_load_be16(const void *at)
{
	uint16_t v;

	memcpy(&v, at, sizeof(v));
	return wire_swap16(v);
}

/** @brief Read 4 octets at @p at, most significant first, unchecked. */
static inline uint32_t
wire_load_be32(const void *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return wire_swap32(v);
}

/** @brief Read 8 octets at @p at, most significant first, unchecked. */
static inline uint64_t
wire_load_be64(const void *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return wire_swap64(v);
}

/** @brief Write 2 octets to @p at, most significant first, unchecked. */
static inline void
wire_store_be16(void *at, uint16_t v)
{
	v = wire_swap16(v);
	memcpy(at, &v, sizeof(v));
}

/** @brief Write 4 octets to @p at, most significant first, unchecked. */
static inline void
wire_store_be32(void *at, uint32_t v)
{
	v = wire_swap32(v);
	memcpy(at, &v, sizeof(v));
}

/** @brief Write 8 octets to @p at, most significant first, unchecked. */
static inline void
wire_store_be64(void *at, uint64_t v)
{
	v = wire_swap64(v);
	memcpy(at, &v, sizeof(v));
}

/** @brief A cursor that reads. */
struct wire_reader {
	const uint8_t *at; /**< next octet */
	size_t left;       /**< octets from @ref at to the end of the span */
	bool ok;           /**< false once an access did not fit, or a match failed */
};

/** @brief Make a reader of @p len octets at @p buf, which stay the caller's. @p buf may be NULL if @p len is 0. */
static inline struct wire_reader
wire_reader_of(const void *buf, size_t len)
{
	struct wire_reader r = {(const uint8_t *)buf, len, true};

	return r;
}

/** @brief Step over @p len octets and return their address, or NULL if fewer are left. */
static inline const uint8_t *
wire_take(struct wire_reader *r, size_t len)
{
	const uint8_t *at = r->at;

	if (len > r->left) {
		r->left = 0;
		r->ok = false;
		return NULL;
	}
	if (len > 0)
		r->at += len;
	r->left -= len;
	return at;
}

/** @brief Step over @p len octets. @return false if fewer are left */
static inline bool
wire_skip(struct wire_reader *r, size_t len)
{
	(void)wire_take(r, len);
	return r->ok;
}

/** @brief Read one octet; 0 at the end. */
static inline uint8_t
wire_u8(struct wire_reader *r)
{
	const uint8_t *at = wire_take(r, 1);

	return at != NULL ? *at : 0;
}

/** @brief Read 2 octets, most significant first; 0 if they are not there. */
static inline uint16_t
wire_be16(struct wire_reader *r)
{
	const uint8_t *at = wire_take(r, 2);

	return at != NULL ? wire_load_be16(at) : 0;
}

/** @brief Read 4 octets, most significant first; 0 if they are not there. */
static inline uint32_t
wire_be32(struct wire_reader *r)
{
	const uint8_t *at = wire_take(r, 4);

	return at != NULL ? wire_load_be32(at) : 0;
}

/** @brief Read 8 octets, most significant first; 0 if they are not there. */
static inline uint64_t
wire_be64(struct wire_reader *r)
{
	const uint8_t *at = wire_take(r, 8);

	return at != NULL ? wire_load_be64(at) : 0;
}

/** @brief Copy @p len octets to @p to and step over them; @p to is zeroed if fewer are left. */
static inline bool
wire_copy(struct wire_reader *r, void *to, size_t len)
{
	const uint8_t *at = wire_take(r, len);

	if (len == 0)
		return r->ok;
	if (at != NULL)
		memcpy(to, at, len);
	else
		memset(to, 0, len);
	return at != NULL;
}

/** @brief A cursor that writes. */
struct wire_writer {
	uint8_t *start; /**< first octet of the span */
	uint8_t *at;    /**< next octet to write */
	size_t left;    /**< octets from @ref at to the end of the span */
	bool ok;        /**< false once something did not fit */
};

/** @brief Make a writer into @p len octets at @p buf, which stay the caller's. */
static inline struct wire_writer
wire_writer_of(void *buf, size_t len)
{
	struct wire_writer w = {(uint8_t *)buf, (uint8_t *)buf, len, true};

	return w;
}

/** @brief Return the octets written so far; 0 if something did not fit. */
static inline size_t
wire_written(const struct wire_writer *w)
{
	return w->ok ? (size_t)(w->at - w->start) : 0;
}

/** @brief Step over @p len octets and return their address, to be filled in; NULL if fewer are left. */
static inline uint8_t *
wire_reserve(struct wire_writer *w, size_t len)
{
	uint8_t *at = w->at;

	if (len > w->left) {
		w->left = 0;
		w->ok = false;
		return NULL;
	}
	if (len > 0)
		w->at += len;
	w->left -= len;
	return at;
}

/** @brief Write one octet. */
static inline void
wire_put_u8(struct wire_writer *w, uint8_t v)
{
	uint8_t *at = wire_reserve(w, 1);

	if (at != NULL)
		*at = v;
}

/** @brief Write 2 octets, most significant first. */
static inline void
wire_put_be16(struct wire_writer *w, uint16_t v)
{
	uint8_t *at = wire_reserve(w, 2);

	if (at != NULL)
		wire_store_be16(at, v);
}

/** @brief Write 4 octets, most significant first. */
static inline void
wire_put_be32(struct wire_writer *w, uint32_t v)
{
	uint8_t *at = wire_reserve(w, 4);

	if (at != NULL)
		wire_store_be32(at, v);
}

/** @brief Write 8 octets, most significant first. */
static inline void
wire_put_be64(struct wire_writer *w, uint64_t v)
{
	uint8_t *at = wire_reserve(w, 8);

	if (at != NULL)
		wire_store_be64(at, v);
}

/** @brief Write a copy of @p len octets at @p from. */
static inline void
wire_put(struct wire_writer *w, const void *from, size_t len)
{
	uint8_t *at = wire_reserve(w, len);

	if (at != NULL && len > 0)
		memcpy(at, from, len);
}

/** @brief Write @p len zero octets. */
static inline void
wire_put_zero(struct wire_writer *w, size_t len)
{
	uint8_t *at = wire_reserve(w, len);

	if (at != NULL && len > 0)
		memset(at, 0, len);
}

#ifdef __cplusplus
}
#endif

#endif
