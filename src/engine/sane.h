/* Self-checks: what must hold of the engine's structures whatever was asked, found out by slower,
 * simpler means than those that built them. The debug build runs them; a release build does not. */
#ifndef HEDDLE_ENGINE_SANE_H
#define HEDDLE_ENGINE_SANE_H

#include "engine/polygraph.h"

/* The steps, accesses and sections of both views, and the clocks of what an event needs: those of
 * at most a few hundred steps by following the needs one by one. */
bool hd_engine_base_is_sane(const struct hd_engine_base *base);

/* The cut, the choices and their trail: bounds, chains, reasons. */
bool hd_polygraph_is_sane(const struct hd_engine *engine);

/* No clause that the present query learned forbids its witness. */
bool hd_clauses_allow(const struct hd_engine *engine, const struct hd_witness *witness);

#endif
