#include "static_locks/locks.hpp"

#include <ekiden/sync/state_mutex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <type_traits>

namespace {

struct counts {
    void operator()() const noexcept {}
};
enum class shutter { a, b };
enum class shutter_op { flip };
constexpr auto shutter_table = ekiden::make_state_table<shutter, shutter_op>(
    shutter::a, {{shutter_op::flip, shutter::a, shutter::b}, {shutter_op::flip, shutter::b, shutter::a}});

// That these compile is the test.
constinit ekiden::mutex a_mutex;
constinit ekiden::fifo_mutex a_fifo_mutex;
constinit ekiden::hybrid_mutex a_hybrid_mutex;
constinit ekiden::basic_hybrid_mutex<7> another_hybrid_mutex;
constinit ekiden::spin_mutex a_spin_mutex;
constinit ekiden::rw_mutex<> an_rw_mutex;
constinit ekiden::rw_mutex<ekiden::rw_policy::fifo> a_fifo_rw_mutex;
constinit ekiden::latch a_latch(3);
constinit ekiden::event an_event;
constinit ekiden::counting_semaphore<> a_semaphore(0);
constinit ekiden::binary_semaphore a_binary_semaphore(1);
constinit ekiden::barrier<> a_barrier(2);
constinit ekiden::barrier<> a_wide_barrier(100'000);
constinit ekiden::barrier<counts> a_barrier_that_completes(2);
constinit ekiden::elastic_barrier an_elastic_barrier(2);
constinit ekiden::sequencer<int, int> a_sequencer;
constinit ekiden::state_mutex<shutter_table> a_state_mutex;
constinit ekiden::state_lock a_state_lock;

template <class... Locks>
constexpr bool standard_layout = (std::is_standard_layout_v<Locks> && ...);

static_assert(standard_layout<ekiden::mutex, ekiden::fifo_mutex, ekiden::hybrid_mutex, ekiden::spin_mutex,
                              ekiden::rw_mutex<>, ekiden::state_lock>);

#if !defined(EKIDEN_ANNOTATE_LOCKS)
template <class... Locks>
constexpr std::size_t largest = std::max({sizeof(Locks)...});

// As docs/locks.md has it.
static_assert(largest<ekiden::mutex, ekiden::fifo_mutex, ekiden::hybrid_mutex, ekiden::rw_mutex<>,
                      ekiden::rw_mutex<ekiden::rw_policy::fifo>, ekiden::event, ekiden::state_lock>
              == 24);
static_assert(largest<ekiden::counting_semaphore<>, ekiden::latch> == 32);
#endif

} // namespace

TEST_CASE("locks with static storage that the compiler has initialised work") {
    const std::scoped_lock all(a_mutex, a_fifo_mutex, a_hybrid_mutex, another_hybrid_mutex, a_spin_mutex,
                               an_rw_mutex, a_fifo_rw_mutex);
    CHECK_FALSE(a_mutex.try_lock());
    a_latch.count_down(3);
    CHECK(a_latch.try_wait());
    CHECK_FALSE(an_event.is_set());
    CHECK_FALSE(a_semaphore.try_acquire());
    CHECK(a_binary_semaphore.try_acquire());
    CHECK(a_barrier.is_complete(a_barrier.arrive(2)));
    CHECK(a_wide_barrier.is_complete(a_wide_barrier.arrive(100'000)));
    CHECK(a_barrier_that_completes.is_complete(a_barrier_that_completes.arrive(2)));
    an_elastic_barrier.enter();
    a_sequencer.close();
    CHECK_FALSE(a_sequencer.call(1));
    a_state_mutex.enter<shutter_op::flip>().leave(shutter::b);
    CHECK(a_state_lock.passes(1));
}
