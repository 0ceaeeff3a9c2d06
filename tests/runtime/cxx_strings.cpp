// What the C++ library does to strings on behalf of the program is recorded, though it is not
// instrumented itself.
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static std::map<std::string, std::string> table = {{"first", std::string(60, 'a')}};
static std::mutex guard;

static void enter(int number) {
    for (int i = 0; i < 20; i++) {
        std::ostringstream text;
        text << "thread " << number << " round " << i << std::string(80, 'x');
        std::lock_guard<std::mutex> hold(guard);
        table["key " + std::to_string(i)] = text.str();
    }
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) threads.emplace_back(enter, i);
    for (auto &thread : threads) thread.join();
    std::string line = table["first"];
    std::cout << table.size() << " " << line.size() << std::endl;
    return 0;
}
