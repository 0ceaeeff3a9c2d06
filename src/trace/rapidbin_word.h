/* Where things are in the 64-bit word of a RapidBin event. */
#ifndef HEDDLE_TRACE_RAPIDBIN_WORD_H
#define HEDDLE_TRACE_RAPIDBIN_WORD_H

#include "trace/wire.h"

enum { RAPIDBIN_HEADER = 18 };
#define RAPIDBIN_THREAD_MASK 0x3ffull
#define RAPIDBIN_OP_SHIFT 10
#define RAPIDBIN_OP_MASK 0xfull
#define RAPIDBIN_DECOR_SHIFT 14
#define RAPIDBIN_DECOR_MASK 0x3ffffffffull
#define RAPIDBIN_SITE_SHIFT 48
#define RAPIDBIN_SITE_MASK 0x7fffull

enum { RAPIDBIN_REQUEST = 8, RAPIDBIN_OPS = 10 };

static const uint8_t hd_rapidbin_kind[RAPIDBIN_OPS] = {
    HD_EV_ACQUIRE, HD_EV_RELEASE, HD_EV_READ, HD_EV_WRITE, HD_EV_FORK,
    HD_EV_JOIN,    HD_EV_BEGIN,   HD_EV_END,  HD_EV_NONE,  HD_EV_BRANCH};

#endif
