// Exceptions that pass through interceptors: out of an initialiser that is run once, out of
// operator new, through many instrumented frames.
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

static std::once_flag flag;
volatile int initialised, after, after_unwinding;
int *volatile kept;

static void deep(int levels) {
    if (levels == 0) throw std::logic_error("deep");
    deep(levels - 1);
    initialised = -1; // not a tail call
}

int main() {
    int tries = 0;
    auto attempt = [&] {
        try {
            std::call_once(flag, [&] {
                initialised = initialised + 1;
                if (++tries < 3) throw std::runtime_error("not yet");
            });
            return true;
        } catch (const std::runtime_error &) {
            return false;
        }
    };
    bool a = attempt(), b = attempt(), c = attempt(), d = attempt();
    std::printf("%d%d%d%d %d\n", a, b, c, d, tries);

    volatile std::size_t huge = std::size_t(1) << 62;
    for (int i = 0; i < 2; i++) {
        try {
            std::unique_ptr<char[]> block(new char[huge]);
            std::printf("%p ", static_cast<void *>(block.get()));
        } catch (const std::bad_alloc &) {
            std::printf("bad_alloc ");
        }
    }
    std::puts(::operator new(huge, std::nothrow) == nullptr ? "null" : "a block");
    std::unique_ptr<int> small(new int(3));
    kept = small.get();
    after = *kept;

    try {
        deep(20);
    } catch (const std::logic_error &) {
        after_unwinding = 1;
        std::puts("unwound");
    }
    std::thread([] { after = 2; }).join();
    return 0;
}
