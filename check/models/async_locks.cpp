// A coroutine that waits for a lock, a semaphore, an event or buffers: the stop between being served and
// running, and the end of the frame. src/ekiden/async/detail/locks.md says what is claimed.
#include <check/engine/model.hpp>
#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/detail/await_in_place.hpp>
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/select.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sys/thread.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace async_locks_models {

namespace {

using namespace ekiden;

/// Home of one coroutine: takes one task, and the thread that has begun the coroutine runs it.
struct one_seat : execution_context {
    sys::atomic<task*> place{nullptr};

    struct executor : task_sink<executor> {
        explicit executor(one_seat& in) noexcept : in_(&in) {}
        one_seat& context() const noexcept { return *in_; }
        void on_work_started() const noexcept {}
        void on_work_finished() const noexcept {}
        bool accept(task* given, task_order) const {
            check::that(in_->place.exchange(given, sys::acq_rel) == nullptr, "posted once");
            return true;
        }
        task* continue_with(task* given) const {
            (void)accept(given, task_order::usual);
            return nullptr;
        }
        bool running_in_this_thread() const noexcept { return false; }
        void report_unhandled(const char*) const noexcept {}
        friend bool operator==(const executor&, const executor&) = default;

    private:
        one_seat* in_;
    };
};

/// A coroutine that ends its frame itself, under an environment of the model's.
struct one_coroutine {
    struct promise_type : coroutine_promise {
        promise_type() noexcept : coroutine_promise(std::source_location::current()) {}
        ~promise_type() { *has_ended = true; }
        one_coroutine get_return_object() noexcept { return {this}; }
        static std::suspend_never final_suspend() noexcept { return {}; }
        static void return_void() noexcept {}
        [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }

        bool* has_ended = nullptr;
    };
    promise_type* promise;
};

/// Runs the coroutine `body()` to its end, on the calling thread and nowhere else.
/// With `abandons` the executor drops what is posted.
template <class Body>
void run_here(stop_state* stop, Body& body, bool abandons = false) {
    one_seat context;
    environment env(one_seat::executor(context), stop);
    bool has_ended = false;
    one_coroutine::promise_type& begun = *body().promise;
    begun.has_ended = &has_ended;
    begun.work_under(env);
    begun.handle().resume();
    while (!has_ended) {
        task* const next = context.place.exchange(nullptr, sys::acquire);
        if (next == nullptr)
            sys::yield();
        else if (abandons)
            next->abandon();
        else
            next->run();
    }
    check::that(context.place.load(sys::relaxed) == nullptr, "resumed as often as it has waited");
}

/// A wait on a lock without a coroutine: what the end of its frame does.
struct bare_wait : detail::lock_wait {
    one_seat context;
    environment env{one_seat::executor(context)};
    one_coroutine::promise_type promise;
    bool has_ended = false;

    bare_wait() noexcept {
        promise.has_ended = &has_ended;
        promise.work_under(env);
    }
    bool waits_for(state_lock& lock) noexcept {
        (void)begin(std::coroutine_handle<one_coroutine::promise_type>::from_promise(promise));
        return wait({lock, 1});
    }
    using detail::lock_wait::end;
};

} // namespace

EKIDEN_MODEL(async_mutex_stop, .old_values = 2,
             .about = "a mutex is released as the coroutine that waits for it is stopped", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    mutex m;
    stop_state stop;
    sys::cell<int> count{0};
    detail::lock_access::core(m).enter(mutex_base::free);
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            try {
                const auto guard = co_await async_lock(m);
                count.write(count.read() + 1);
            } catch (const operation_canceled&) {
            }
        };
        run_here(&stop, body);
    });
    sys::thread stopper([&] { (void)stop.request_stop(); });
    count.write(1);
    async_unlock(m);
    home.join();
    stopper.join();
    check::that(detail::lock_access::core(m).try_enter(mutex_base::free), "nobody has it at the end");
    detail::lock_access::core(m).exit(0);
}

EKIDEN_MODEL(async_mutex_abandoned,
             .about = "a mutex and a permit are granted to a coroutine that its executor drops",
             .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    mutex m;
    counting_semaphore<> s(0);
    detail::lock_access::core(m).enter(mutex_base::free);
    sys::thread first([&] {
        const auto body = [&]() -> one_coroutine {
            const auto guard = co_await async_lock(m); // it was free at once
        };
        run_here(nullptr, body, true);
    });
    sys::thread second([&] {
        const auto body = [&]() -> one_coroutine {
            co_await async_acquire(s);
            s.release();
        };
        run_here(nullptr, body, true);
    });
    async_unlock(m);
    s.release();
    first.join();
    second.join();
    check::that(detail::lock_access::core(m).try_enter(mutex_base::free), "nobody has it at the end");
    detail::lock_access::core(m).exit(0);
    check::that(s.try_acquire(), "nor the permit");
    check::that(!s.try_acquire(), "which is one");
}

EKIDEN_MODEL(async_mutex_threads, .old_values = 2, .about = "a coroutine and threads one after the other",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    mutex m;
    sys::cell<int> count{0};
    const auto work = [&] {
        m.lock();
        count.write(count.read() + 1);
        m.unlock();
    };
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            const auto guard = co_await async_lock(m);
            count.write(count.read() + 1);
        };
        run_here(nullptr, body);
    });
    sys::thread other(work);
    work();
    home.join();
    other.join();
    check::that(count.read() == 3, "all three");
}

EKIDEN_MODEL(async_semaphore_stop, .old_values = 2,
             .about = "one permit, a coroutine that is stopped: taken or still there", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    counting_semaphore<> s(0);
    stop_state stop;
    sys::cell<int> message{0};
    bool got = false;
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            try {
                co_await async_acquire(s);
                check::that(message.read() == 1, "what was done before the release is seen");
                got = true;
            } catch (const operation_canceled&) {
            }
        };
        run_here(&stop, body);
    });
    sys::thread stopper([&] { (void)stop.request_stop(); });
    message.write(1);
    s.release();
    home.join();
    stopper.join();
    check::that(s.try_acquire() != got, "the permit is there exactly once");
}

EKIDEN_MODEL(async_event_stop, .old_values = 2,
             .about = "an event is set as the coroutine that waits for it is stopped", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    event e;
    stop_state stop;
    sys::cell<int> message{0};
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            try {
                co_await async_wait(e);
                check::that(message.read() == 1, "what was done before set() is seen");
            } catch (const operation_canceled&) {
            }
        };
        run_here(&stop, body);
    });
    sys::thread stopper([&] { (void)stop.request_stop(); });
    message.write(1);
    e.set();
    home.join();
    stopper.join();
}

EKIDEN_MODEL(async_pop_stop, .old_values = 2,
             .about = "one item, a receiver that is stopped: it arrives or is still inside", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    bounded_buffer<int> buffer(1);
    stop_state stop;
    int got = 0;
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            const std::optional<int> item = co_await async_pop(buffer);
            got = item.value_or(0);
        };
        run_here(&stop, body);
    });
    sys::thread stopper([&] { (void)stop.request_stop(); });
    (void)buffer.push(7);
    home.join();
    stopper.join();
    check::that(got + (buffer.size() == 1 ? *buffer.pop() : 0) == 7, "once");
}

EKIDEN_MODEL(async_push_stop, .old_values = 2,
             .about = "a sender that is stopped: its argument is untouched or inside", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    bounded_buffer<std::optional<int>> buffer(1);
    (void)buffer.push(std::optional<int>(1));
    stop_state stop;
    std::optional<std::optional<int>> mine{std::optional<int>(6)};
    bool is_in = false;
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            const queue_status r = co_await async_push(buffer, std::move(*mine));
            is_in = r == queue_status::done;
        };
        run_here(&stop, body);
    });
    sys::thread stopper([&] { (void)stop.request_stop(); });
    int sum = **buffer.pop();
    home.join();
    stopper.join();
    check::that(buffer.size() == (is_in ? 1 : 0), "inside if it says so");
    sum += is_in ? **buffer.pop() : **mine;
    check::that(sum == 7, "no item is lost");
}

EKIDEN_MODEL(async_close, .old_values = 2,
             .about = "close wakes a sender and a receiver that wait in coroutines", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    bounded_buffer<int> full(1);
    bounded_buffer<int> empty(1);
    (void)full.push(1);
    sys::thread sender([&] {
        const auto body = [&]() -> one_coroutine {
            const queue_status r = co_await async_push(full, 2);
            check::that(r == queue_status::closed, "refused");
        };
        run_here(nullptr, body);
    });
    sys::thread receiver([&] {
        const auto body = [&]() -> one_coroutine {
            const std::optional<int> item = co_await async_pop(empty);
            check::that(!item, "ended");
        };
        run_here(nullptr, body);
    });
    full.close();
    empty.close();
    sender.join();
    receiver.join();
    check::that(full.pop() == 1, "what was accepted can be read");
    check::that(!full.pop(), "and no more");
}

EKIDEN_MODEL(async_end_of_frame, .old_values = 2,
             .about = "a frame ends as its lock is granted: the lock goes on", .preemptions = 3,
             .spurious = 0, .weak_failures = 0) {
    state_lock lock;
    lock.enter(1);
    bare_wait wait;
    const bool waits = wait.waits_for(lock);
    check::that(waits, "somebody is inside");
    sys::thread holder([&] { lock.exit(0); });
    if (wait.end()) lock.exit(0); // it has been given to the frame
    holder.join();
    check::that(lock.try_enter(1), "free again");
    lock.exit(0);
}

namespace {

// Two items for one select, which takes one of them.
template <class Buffer>
void select_of_two() {
    Buffer a(1);
    Buffer b(1);
    int got = 0;
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            const auto item = co_await select(a, b);
            got = item->index() == 0 ? std::get<0>(*item) : std::get<1>(*item);
        };
        run_here(nullptr, body);
    });
    sys::thread other([&] { (void)b.push(2); });
    (void)a.push(1);
    home.join();
    other.join();
    check::that(got != 0, "one");
    const int left = (a.size() == 1 ? *a.pop() : 0) + (b.size() == 1 ? *b.pop() : 0);
    check::that(got + left == 3, "no item is lost");
}

// A select is stopped as an item comes.
template <class Buffer>
void select_against_stop() {
    Buffer a(1);
    Buffer b(1);
    stop_state stop;
    int got = 0;
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            const auto item = co_await select(a, b);
            if (item) got = std::get<1>(*item);
        };
        run_here(&stop, body);
    });
    sys::thread stopper([&] { (void)stop.request_stop(); });
    (void)b.push(2);
    home.join();
    stopper.join();
    check::that(got + (b.size() == 1 ? *b.pop() : 0) == 2, "once");
    (void)a.push(1); // or its end finds a waiter
    check::that(a.pop() == 1, "no trace");
}

// Both buffers of a select are closed, by two threads.
template <class Buffer>
void select_against_close() {
    Buffer a(1);
    Buffer b(1);
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            const auto item = co_await select(a, b);
            check::that(!item, "all are closed");
        };
        run_here(nullptr, body);
    });
    sys::thread other([&] { b.close(); });
    a.close();
    home.join();
    other.join();
}

// The item of one channel may be gone when the select has reserved its wait for it.
void select_against_pop() {
    channel<int> a(1);
    channel<int> b(1);
    int got = 0;
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            const auto item = co_await select(a, b);
            got = item->index() == 0 ? std::get<0>(*item) : std::get<1>(*item);
        };
        run_here(nullptr, body);
    });
    sys::thread other([&] { (void)b.try_push(2); });
    std::optional<int> mine;
    sys::thread thief([&] { mine = a.try_pop(); });
    (void)a.try_push(1);
    home.join();
    other.join();
    thief.join();
    const int left = a.try_pop().value_or(0) + b.try_pop().value_or(0);
    check::that(got + left + mine.value_or(0) == 3, "no item is lost");
}

// A pop of a channel is stopped as an item comes.
void pop_against_stop(std::size_t capacity) {
    channel<int> ch(capacity);
    stop_state stop;
    int got = 0;
    sys::thread home([&] {
        const auto body = [&]() -> one_coroutine {
            const auto item = co_await async_pop(ch);
            got = item.value_or(0);
        };
        run_here(&stop, body);
    });
    sys::thread stopper([&] { (void)stop.request_stop(); });
    const bool is_accepted = ch.try_push(1) == queue_status::done;
    home.join();
    stopper.join();
    check::that(got + ch.try_pop().value_or(0) == (is_accepted ? 1 : 0), "once");
    check::that(ch.try_push(2) == (capacity == 0 ? queue_status::would_wait : queue_status::done),
                "no trace");
}

} // namespace

EKIDEN_MODEL(select_two, .old_values = 1,
             .about = "two items for one select of two buffers: it takes one and leaves the other",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    select_of_two<bounded_buffer<int>>();
}

EKIDEN_MODEL(select_two_channels, .old_values = 1,
             .about = "two items for one select of two channels: it takes one and leaves the other",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    select_of_two<channel<int>>();
}

EKIDEN_MODEL(select_takes_from_two_channels, .old_values = 1,
             .about = "a select takes an item although another branch has won", .preemptions = 2,
             .spurious = 0, .weak_failures = 0, .mutant = "select_takes_from_two_channels") {
    select_of_two<channel<int>>();
}

EKIDEN_MODEL(select_stop, .old_values = 1,
             .about = "a select is stopped as an item comes: it arrives or is still inside", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    select_against_stop<bounded_buffer<int>>();
}

EKIDEN_MODEL(select_stop_channels, .old_values = 1,
             .about = "a select of channels is stopped as an item comes", .preemptions = 2, .spurious = 0,
             .weak_failures = 0) {
    select_against_stop<channel<int>>();
}

EKIDEN_MODEL(select_close, .old_values = 1, .about = "both buffers of a select are closed, by two threads",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    select_against_close<bounded_buffer<int>>();
}

EKIDEN_MODEL(select_close_channels, .old_values = 1,
             .about = "both channels of a select are closed, by two threads", .preemptions = 2, .spurious = 0,
             .weak_failures = 0) {
    select_against_close<channel<int>>();
}

EKIDEN_MODEL(select_reserves, .old_values = 1,
             .about = "a select reserves its wait, and another pop has taken the item", .preemptions = 2,
             .spurious = 0, .weak_failures = 0) {
    select_against_pop();
}

EKIDEN_MODEL(select_trusts_a_reservation, .old_values = 1,
             .about = "a branch gives up because another one has reserved the wait", .preemptions = 2,
             .spurious = 0, .weak_failures = 0, .mutant = "select_trusts_a_reservation") {
    select_against_pop();
}

EKIDEN_MODEL(channel_pop_stopped, .old_values = 1, .about = "a pop of a channel is stopped as an item comes",
             .preemptions = 2, .spurious = 0, .weak_failures = 0) {
    pop_against_stop(1);
}

EKIDEN_MODEL(channel_rendezvous_stopped, .old_values = 1,
             .about = "a pop of a rendezvous is stopped as a push comes", .preemptions = 2, .spurious = 0,
             .weak_failures = 0) {
    pop_against_stop(0);
}

} // namespace async_locks_models
