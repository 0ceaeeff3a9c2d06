// Virtual tables: constructors and destructors store them, virtual calls read them.
#include <cstdio>

struct base {
    base() {}
    virtual int id() const { return 1; }
    virtual ~base() {}
};
struct derived : base {
    derived() {}
    int id() const override { return 2; }
    ~derived() override {}
};

alignas(base) char storage_of_derived[sizeof(derived)];
derived global_derived;

__attribute__((noinline)) static int call(const base *object) { return object->id(); }
__attribute__((noinline)) static void destroy(base *object) { object->~base(); }

void *operator new(std::size_t, char *place) { return place; }

__attribute__((noinline)) static base *build(char *place) { return new (place) derived; }

int main() {
    int sum = call(&global_derived);
    destroy(build(storage_of_derived));
    std::printf("%d\n", sum);
    return 0;
}
