/* Plain view consistency (Artho, Havelund and Biere 2003): see detect.h. */
#include "lint/detect.h"

void hd_lint_find_artho(struct hd_lint *lint) { (void)lint; }
