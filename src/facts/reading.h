/* How the reads of a reordering are bound to their writes (DESIGN section 5). */
#ifndef HEDDLE_FACTS_READING_H
#define HEDDLE_FACTS_READING_H

/* CSR: not at all. CDSR: every read of the reordering keeps its write (or writes). UA: as CDSR,
 * with all reads of the whole trace. */
enum hd_reading { HD_CSR, HD_CDSR, HD_UA };

#endif
