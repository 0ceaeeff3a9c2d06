/* A header that is not there: the unit is degraded, and says so. */
#include "not_there.h"
int before(int n) { return n; }
int after(int n) { return undeclared_thing->field + n; }
