/* Data races: from decided pairs to findings. */
#ifndef HEDDLE_PREDICT_RACE_H
#define HEDDLE_PREDICT_RACE_H

#include "predict/decide.h"

/* Is a verdict of this method shown without --all? Methods that cannot decide show what they can
 * say. */
bool hd_race_is_shown(enum hd_method method, enum hd_verdict verdict);

#endif
