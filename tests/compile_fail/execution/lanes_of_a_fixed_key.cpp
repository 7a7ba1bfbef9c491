// expect: ekiden: lanes: the key can be copied, assigned and compared by ==
#include <ekiden/execution/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <cstddef>

namespace {
struct fixed {
    const int value;
    friend bool operator==(const fixed&, const fixed&) = default;
};
struct hash {
    std::size_t operator()(const fixed& f) const noexcept { return static_cast<std::size_t>(f.value); }
};
} // namespace

int main() {
    ekiden::thread_pool pool(1);
    const ekiden::lanes<fixed, ekiden::any_executor, hash> lanes(pool.get_executor());
    lanes.post(fixed{1}, [] {});
}
