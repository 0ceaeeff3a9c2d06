/* The parts of hd_method_poly, the exact engine as a method. */
#ifndef HEDDLE_PREDICT_POLY_H
#define HEDDLE_PREDICT_POLY_H

#include "predict/method.h"

extern const struct hd_race_method hd_race_poly;
extern const struct hd_atomicity_method hd_atomicity_poly;
extern const struct hd_correlated_method hd_correlated_poly;

#endif
