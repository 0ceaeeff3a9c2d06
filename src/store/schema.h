/* The tables of a store: see sql.h. */
#ifndef HEDDLE_STORE_SCHEMA_H
#define HEDDLE_STORE_SCHEMA_H

#include "store/sql.h"

extern const struct hd_sql_kind hd_store_kind;

#endif
