// A thread with a role says when it sleeps in a lock, and only then.
#include <ekiden/context/thread_context.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/elastic_barrier.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/latch.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/sequencer.hpp>
#include <ekiden/sync/state_mutex.hpp>
#include <ekiden/sync/watermark_buffer.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// Counts what its thread says. `begun` may be read by others.
class counting_role : public ekiden::thread_role {
public:
    counting_role() noexcept : thread_role(nullptr) {}

    bool wait_for(ekiden::completion&, const ekiden::wait_limit*) noexcept override { return false; }
    bool begin_blocking(const char* what) noexcept override {
        if (inside_) return false;
        inside_ = true;
        name = what;
        begun.fetch_add(1);
        return true;
    }
    void end_blocking() noexcept override {
        CHECK(inside_);
        inside_ = false;
        ++ended;
    }

    std::string name;
    std::atomic<int> begun{0};
    int ended = 0;

private:
    bool inside_ = false;
};

/// `wait` sleeps in a thread with a role until `release` is called after it has said so.
template <class Wait, class Release>
void says_so(const char* name, Wait wait, Release release) {
    CAPTURE(name);
    counting_role role;
    std::thread waiting([&] {
        const ekiden::role_scope scope(role);
        wait();
    });
    while (role.begun.load() == 0) std::this_thread::yield();
    release();
    waiting.join();
    CHECK(role.begun == 1);
    CHECK(role.ended == 1);
    CHECK(role.name == name);
}

/// `act`, in this thread with a role, says nothing.
template <class Act>
void says_nothing(Act act) {
    counting_role role;
    {
        const ekiden::role_scope scope(role);
        act();
    }
    CHECK(role.begun == 0);
    CHECK(role.ended == 0);
}

/// `act(limit)` sleeps in this thread until the limit, a duration. On a busy machine that may pass before the
/// thread gets as far as to sleep: then a longer one is tried.
template <class Act>
void says_so_until_it_gives_up(Act act) {
    counting_role role;
    for (auto limit = 1ms; role.begun == 0; limit *= 2) {
        const ekiden::role_scope scope(role);
        act(limit);
    }
    CHECK(role.begun == 1);
    CHECK(role.ended == 1);
}

template <class Mutex>
void check_mutex(const char* name) {
    Mutex m;
    says_nothing([&] {
        const std::lock_guard guard(m);
        CHECK_FALSE(m.try_lock());
    });
    m.lock();
    says_so(name, [&] { const std::lock_guard guard(m); }, [&] { m.unlock(); });
    m.lock();
    std::thread([&] { // not the owner: that may not wait for it
        says_so_until_it_gives_up([&](auto limit) { CHECK_FALSE(m.try_lock_for(limit)); });
        says_nothing([&] { CHECK_FALSE(m.try_lock_for(0ms)); });
    })
        .join();
    m.unlock();
}

enum class door { shut, open };
enum class door_op { push, pull };
constexpr auto door_table = ekiden::make_state_table<door, door_op>(
    door::shut, {{door_op::push, door::shut, door::open}, {door_op::pull, door::open, door::shut}});

} // namespace

TEST_CASE("a thread says that it sleeps for a mutex, once a wait") {
    check_mutex<ekiden::mutex>("a mutex");
    check_mutex<ekiden::fifo_mutex>("a fifo_mutex");
    check_mutex<ekiden::hybrid_mutex>("a hybrid_mutex");
    check_mutex<ekiden::rw_mutex<>>("an rw_mutex");
    check_mutex<ekiden::rw_mutex<ekiden::rw_policy::fifo>>("an rw_mutex");

    ekiden::mutex m;
    m.lock();
    std::stop_source stop;
    says_so("a mutex", [&] { CHECK_FALSE(m.lock(stop.get_token())); }, [&] { stop.request_stop(); });
    m.unlock();

    ekiden::rw_mutex<> rw;
    rw.lock();
    says_so("an rw_mutex", [&] { const std::shared_lock guard(rw); }, [&] { rw.unlock(); });
}

TEST_CASE("a thread says that it sleeps for others at a barrier, a latch, an event, a semaphore") {
    ekiden::barrier<> barrier(2);
    says_so("a barrier", [&] { barrier.arrive_and_wait(); }, [&] { (void)barrier.arrive(); });
    says_nothing([&] { barrier.wait(barrier.arrive(2)); });
    const auto round = barrier.arrive();
    says_so_until_it_gives_up(
        [&](auto limit) { CHECK_FALSE(barrier.wait(round, ekiden::wait_limit::after(limit))); });

    ekiden::elastic_barrier elastic(2);
    elastic.enter();
    says_so(
        "an elastic_barrier", [&] { elastic.leave(); },
        [&] {
            elastic.enter();
            elastic.leave();
        });

    ekiden::event event;
    says_so("an event", [&] { event.wait(); }, [&] { event.set(); });
    says_nothing([&] { event.wait(); });

    ekiden::latch latch(2);
    says_so("a latch", [&] { latch.arrive_and_wait(); }, [&] { latch.count_down(); });
    says_nothing([&] { latch.wait(); });

    ekiden::counting_semaphore<> permits(1);
    says_nothing([&] { permits.acquire(); });
    says_so("a semaphore", [&] { permits.acquire(); }, [&] { permits.release(); });
    says_so_until_it_gives_up([&](auto limit) { CHECK_FALSE(permits.try_acquire_for(limit)); });
    std::stop_source stop;
    says_so(
        "a semaphore", [&] { CHECK_FALSE(permits.acquire(ekiden::wait_limit(stop.get_token()))); },
        [&] { stop.request_stop(); });
}

TEST_CASE("a thread says that it sleeps for room or an item, or for a state") {
    ekiden::bounded_buffer<int> buffer(1);
    says_so("a buffer", [&] { CHECK(buffer.pop() == 1); }, [&] { (void)buffer.push(1); });
    says_nothing([&] { (void)buffer.push(2); });
    says_so("a buffer", [&] { (void)buffer.push(3); }, [&] { CHECK(buffer.pop() == 2); });
    ekiden::watermark_buffer<int> marked(1, 2);
    says_so_until_it_gives_up(
        [&](auto limit) { CHECK(marked.pop_for(limit).status() == ekiden::queue_status::timed_out); });

    ekiden::state_mutex<door_table> states;
    says_so(
        "a state_mutex", [&] { states.enter<door_op::pull>().leave(door::shut); },
        [&] { states.enter<door_op::push>().leave(door::open); });
}

TEST_CASE("a thread says that it sleeps in a sequencer, on either side") {
    ekiden::sequencer<int, int> desk;
    const auto twice = [](std::uint64_t, int n) { return 2 * n; };
    says_so(
        "a sequencer", [&] { CHECK(desk.call(2)->reply == 4); },
        [&] {
            while (desk.serve_ready(twice) == 0) std::this_thread::yield();
        });
    says_so("a sequencer", [&] { desk.serve(twice); }, [&] { desk.close(); });
}
