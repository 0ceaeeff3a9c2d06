/* The tables of a store, as steps from each version to the next. A step that was released never
 * changes, and only creates tables and indices: so every store of a version has exactly the schema
 * that its steps give, which is how one that is something else is told from it. */
#ifndef HEDDLE_STORE_SCHEMA_H
#define HEDDLE_STORE_SCHEMA_H

#define HD_STORE_VERSION 2
/* "hdst", in the header of the file. */
#define HD_STORE_APPLICATION 0x68647374

/* What makes version `from` + 1 of version `from`; 0 is an empty file. */
const char *hd_store_step(int from);

#endif
