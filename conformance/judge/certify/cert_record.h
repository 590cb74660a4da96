/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERT_RECORD_H
#define CERT_RECORD_H

/**
 * @file cert_record.h
 * @brief The records that it-certify-cases sends its runner.
 *
 * A record is a line of words that are separated by tabs and escaped as C strings. Each is written at once, since it may
 * be the last thing that the process does. The first word is one of these; its arguments are in the comment.
 */

#define CERT_RECORD_BEGIN   "begin"   /**< id: a case starts */
#define CERT_RECORD_NOTE    "note"    /**< text */
#define CERT_RECORD_FAIL    "fail"    /**< where, what, expected, seen; the process ends */
#define CERT_RECORD_SKIP    "skip"    /**< reason: it cannot be tested here */
#define CERT_RECORD_NONE    "none"    /**< reason: it does not apply to the profile */
#define CERT_RECORD_FIGURE  "figure"  /**< curve, unit, x, y */
#define CERT_RECORD_END     "end"     /**< id: the case has returned */
#define CERT_RECORD_ADAPTER "adapter" /**< name, value: what is certified */
#define CERT_RECORD_CLAIM   "claim"   /**< attribute, value, "claim" or "text" */

#endif /* CERT_RECORD_H */
