// expect: ekiden: lanes: the key is moved without exceptions
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <cstddef>

namespace {
struct copied {
    int value;
    explicit copied(int number) : value(number) {}
    copied(const copied& other) : value(other.value) {} // and no move of its own
    friend bool operator==(const copied& a, const copied& b) { return a.value == b.value; }
};
struct hash {
    std::size_t operator()(const copied& c) const noexcept { return static_cast<std::size_t>(c.value); }
};
} // namespace

int main() {
    ekiden::thread_pool pool(1);
    const ekiden::lanes<copied, ekiden::any_executor, hash> lanes(pool.get_executor());
    lanes.post(copied(1), [] {});
}
