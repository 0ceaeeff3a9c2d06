/* The table of methods. */
#include "methods/methods.h"

const struct hd_method *const hd_methods[HD_METHOD_COUNT] = {
#define X(name, about) &hd_method_##name,
    HD_METHODS(X)
#undef X
};
