// Ends by an exception that nobody catches, in main or in another thread.
#include <stdexcept>
#include <thread>

volatile int before_end;

static void fail() {
    before_end = 1;
    throw std::runtime_error("nobody catches this");
}

int main(int argc, char **) {
    if (argc > 1)
        std::thread(fail).join();
    else
        fail();
}
