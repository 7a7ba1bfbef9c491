#include <lab/experiments/several-keys/several_keys.hpp>
#include <lab/peers/onetbb.hpp>

#include <mutex>
#include <shared_mutex>
#include <type_traits>

namespace lab::several_keys {
namespace {

/// Each task locks the mutexes of its accounts. The tasks of an account have no guaranteed order.
template <class Mutex>
class locked_tasks {
public:
    static constexpr peers::row row = peers::onetbb_task_group::row;
    static constexpr bool keeps_order = false;

    locked_tasks(unsigned workers, std::size_t keys) : mutexes_(keys), group_(workers) {}

    template <class Body>
    void enter(Body body) {
        group_.enter(body);
    }
    template <class F>
    void one(std::uint32_t key, F f) {
        group_.post([&mutex = mutexes_[key], f] {
            const std::lock_guard lock(mutex);
            f();
        });
    }
    template <class F>
    void two(std::uint32_t a, std::uint32_t b, F f) {
        group_.post([&first = mutexes_[a], &second = mutexes_[b], f] {
            const std::scoped_lock lock(first, second);
            f();
        });
    }
    template <class F>
    void read(std::uint32_t key, F f) {
        group_.post([&mutex = mutexes_[key], f] {
            using lock = std::conditional_t<std::is_same_v<Mutex, std::shared_mutex>,
                                            std::shared_lock<std::shared_mutex>, std::lock_guard<Mutex>>;
            const lock held(mutex);
            f();
        });
    }

private:
    std::vector<Mutex> mutexes_;
    peers::onetbb_task_group group_;
};

const bool added = peers::add_row<locked_tasks<std::mutex>>("several-keys", &run<locked_tasks<std::mutex>>,
                                                            "std::scoped_lock; does not keep the order");

const bool added_shared = add(implementation{.experiment = "several-keys",
                                             .name = "onetbb-shared-mutex",
                                             .title = "oneTBB task_group",
                                             .note = "std::shared_mutex; does not keep the order",
                                             .run = &run<locked_tasks<std::shared_mutex>>,
                                             .order = 32});

} // namespace
} // namespace lab::several_keys
