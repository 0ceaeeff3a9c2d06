// Names of C++: namespaces, classes with bases, static members, statics of methods, lambdas,
// templates, the library's own types.
#include "fixture.h"
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace outer {
int plain;
namespace inner {
struct point {
    int x, y;
};
point origin;
static int hidden_in_namespace;
} // namespace inner
struct base {
    int from_base;
    virtual ~base() {}
};
struct other {
    long from_other;
};
class derived : public base, public other {
  public:
    int own;
    static int shared;
    static inline int inline_shared = 4;
    __attribute__((noinline)) void *statics() {
        static int calls;
        return &calls;
    }
    __attribute__((noinline)) void report(int line) const;
};
int derived::shared = 3;
template <typename T> struct box {
    T content;
    static T last;
};
template <typename T> T box<T>::last;
} // namespace outer
namespace {
int unnamed;
struct {
    int inside;
} anonymous_type;
} // namespace

outer::derived object;
outer::box<outer::inner::point> boxed;
std::atomic<int> atomic_number;
std::mutex mutex;
std::vector<int> numbers;
std::pair<int, long> pair;
int globals[3];
struct {
    std::mutex mutex;
    std::condition_variable changed; // clang describes it elsewhere only
    int after;
} channel;

__attribute__((noinline)) static void site(const char *function, int line) {
    printf("site %p %s classes.cpp %d\n", __builtin_return_address(0), function, line);
}
__attribute__((noinline)) static void inlined_site(const char *function, int line, int call) {
    printf("site %p %s classes.cpp %d main %d\n", __builtin_return_address(0), function, line,
           call);
}
struct made {
    int value;
    __attribute__((always_inline)) made(int n, int call) : value(n) {
        inlined_site("made::made", __LINE__, call);
        asm volatile("");
    }
};
void outer::derived::report(int line) const {
    (void)line;
    site("outer::derived::report", __LINE__);
    asm volatile("");
}
template <typename T> __attribute__((noinline)) T templated(T value) {
    site("templated<int>", __LINE__);
    return value + 1;
}
struct functor {
    __attribute__((noinline)) void operator()(int) {
        site("functor::operator()", __LINE__);
        asm volatile("");
    }
    __attribute__((noinline)) functor &operator<<(int) {
        site("functor::operator<<", __LINE__);
        return *this;
    }
};

int main(int argc, char **) {
    print_modules();
    VARIABLE(outer::plain);
    VARIABLE(outer::inner::origin.y);
    VARIABLE(outer::inner::origin);
    VARIABLE(outer::inner::hidden_in_namespace);
    VARIABLE(outer::derived::shared);
    VARIABLE(outer::derived::inline_shared);
    VARIABLE(unnamed);
    VARIABLE(anonymous_type.inside);
    VARIABLE(object.own);
    VARIABLE(object.from_base);
    VARIABLE(object.from_other);
    VARIABLE(object);
    VARIABLE(boxed.content.y);
    VARIABLE(atomic_number);
    VARIABLE(mutex);
    NAMED(&mutex, 1, "mutex");
    NAMED(&numbers, 8, "numbers");
    VARIABLE(pair.first);
    VARIABLE(pair.second);
    VARIABLE(globals[1]);
    NAMED(&channel.mutex, 1, "channel.mutex");
    NAMED(&channel.changed, 1, "channel.changed");
    VARIABLE(channel.after);
    VARIABLE(outer::box<int>::last);
    NAMED(object.statics(), sizeof(int), "outer::derived::statics::calls");
    object.report(__LINE__);
    functor()(1);
    functor() << 2;
    auto lambda = [](int n) __attribute__((noinline)) {
#ifndef __clang__ // which calls it $_0 or $_1
        site("main::{lambda(int)#1}::operator()", __LINE__);
#endif
        return n + 1;
    };
    made here(argc, __LINE__);
    auto inlined = [](int n, int call) __attribute__((always_inline)) {
#ifndef __clang__
        inlined_site("main::{lambda}::operator()", __LINE__, call);
#endif
        return n + call;
    };
    argc += inlined(here.value, __LINE__);
    return templated(argc) + lambda(argc) == 0;
}
