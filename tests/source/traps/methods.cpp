// C++: free functions, methods and fields; templates and lambdas are left out, and counted.
namespace bank {
class account {
public:
    explicit account(int start) : balance(start), log(nullptr) {}
    void deposit(int amount) { balance += amount; }
    int read() const;
    int &reference() { return balance; }

private:
    int balance;
    account *log;
};
int account::read() const { return log ? log->balance : balance; }
template <typename T> T twice(T value) { return value + value; }
} // namespace bank

// A parameter without a name.
static int ignore(int, bank::account *) { return 0; }

int transfer(bank::account &from, bank::account *to, int amount) {
    from.deposit(ignore(amount, to));
    to->deposit(amount);
    auto later = [&] { return from.read(); };
    try {
        int list[] = {1, 2, 3};
        for (int value : list) amount += value;
    } catch (...) {
        return -1;
    }
    if (int now = to->read()) return now;
    return later();
}
