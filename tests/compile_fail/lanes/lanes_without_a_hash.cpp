// expect: ekiden: lanes: the hash is a const function of the key
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

namespace {
struct unhashed {
    int value;
    friend bool operator==(const unhashed&, const unhashed&) = default;
};
} // namespace

int main() {
    ekiden::thread_pool pool(1);
    const ekiden::lanes<unhashed> lanes(pool.get_executor());
}
