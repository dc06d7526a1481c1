/* SPDX-License-Identifier: Apache-2.0
 *
 * Visibility and attribute macros of stoker's public headers. */
#ifndef STOKER_EXPORT_H
#define STOKER_EXPORT_H

#if defined(__GNUC__)
#define STK_API __attribute__((visibility("default")))
#define STK_NODISCARD __attribute__((warn_unused_result))
#define STK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define STK_API
#define STK_NODISCARD
#define STK_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
#define STK_BEGIN_DECLS extern "C" {
#define STK_END_DECLS }
#else
#define STK_BEGIN_DECLS
#define STK_END_DECLS
#endif

#endif
