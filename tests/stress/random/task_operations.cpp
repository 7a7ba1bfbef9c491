// Operations on single tasks: posting, submitting, waiting, canceling.
#include "world.hpp"

#include <chrono>
#include <future>
#include <system_error>
#include <thread>

namespace pool_random {

namespace {

using namespace std::chrono_literals;

ekiden::priority some_priority(generator& random) {
    return random.chance(60) ? ekiden::priority::normal
                             : (random.chance(50) ? ekiden::priority::high : ekiden::priority::low);
}

/// Bytes that determine where a callable is stored: in the task's cache line, in a larger node, or on the
/// heap.
template <std::size_t Size>
struct padding {
    std::array<unsigned char, Size> bytes{};
};

/// Calls `use` with a callable of one of three sizes, which calls `body` in the task `of`.
template <class Body, class Use>
decltype(auto) in_some_size(generator& random, record& of, Body body, Use use) {
    const auto wrap = [&]<std::size_t Size>(padding<Size> fill) {
        return use([mine = token(of), body = std::move(body), fill]() mutable {
            (void)fill;
            (void)mine.begin();
            return body();
        });
    };
    switch (random.below(8)) {
    case 0:
        return wrap(padding<64>());
    case 1:
        return wrap(padding<300>());
    default:
        return wrap(padding<1>());
    }
}

/// In a pool with one thread, tasks that a driver posts at normal priority begin in that order.
struct place_in_order {
    pool_slot* slot = nullptr;
    unsigned driver = 0;
    std::uint64_t number = 0;

    static place_in_order next(const context& who, pool_slot& slot, ekiden::priority level) {
        if (who.is_task() || !who.is_at_home || !slot.is_single || level != ekiden::priority::normal)
            return {};
        return {&slot, who.driver, ++slot.posted_in_order[who.driver]};
    }
    void begin() const {
        if (slot == nullptr) return;
        std::uint64_t& last = slot->begun_in_order[driver];
        require(last < number, "tasks of one producer began out of order", static_cast<long>(last),
                static_cast<long>(number));
        last = number;
    }
};

void post(context& who) {
    pool_slot& slot = who.any_pool();
    const new_task made = make(who, slot, true);
    if (made.of == nullptr) return;
    const ekiden::priority level = some_priority(who.random);
    const auto place = place_in_order::next(who, slot, level);
    const bool throws = who.random.chance(5);
    const bool is_in = in_some_size(
        who.random, *made.of,
        [body = made.body, place, throws, &slot] {
            place.begin();
            body();
            if (!throws) return;
            slot.thrown.fetch_add(1, std::memory_order_relaxed);
            throw marked{1};
        },
        [&](auto&& f) { return slot.pool().post(level, std::forward<decltype(f)>(f)); });
    made.of->told = is_in ? fate::accepted : fate::refused;
    require(is_in || slot.ending, "a task was refused although nobody has ended the pool");
}

/// The outcome in the future must match what has happened.
void check_result(waiting_future& awaited, bool was_canceled = false) {
    try {
        require(awaited.result.get() == awaited.value, "a future has the result of another task");
        require(awaited.of->runs == 1, "a future has a value, but its task did not run once",
                awaited.of->runs);
        require(!awaited.may_throw, "a task that throws has a value");
    } catch (const marked& thrown) {
        require(awaited.may_throw && thrown.mark == awaited.value, "a future has the exception of another");
        require(awaited.of->runs == 1, "a future has an exception, but its task did not run once");
    } catch (const std::system_error& error) {
        require(error.code() == std::errc::operation_canceled, "a future reports another error",
                error.code().value());
        require(awaited.of->runs == 0, "a canceled task has run", awaited.of->runs);
        require(was_canceled || awaited.from->ending, "a task was canceled by nobody");
    }
    require(!awaited.result.valid(), "a future is valid after get()");
    require(awaited.of->alive == 0, "the callable lives on although its future is ready", awaited.of->alive);
}

/// `stop` may be a token without a source.
std::optional<waiting_future> submit_to(context& who, pool_slot& slot, const std::stop_token& stop) {
    const new_task made = make(who, slot, false);
    if (made.of == nullptr) return std::nullopt;
    const ekiden::priority level =
        stop.stop_possible() ? ekiden::priority::normal : some_priority(who.random);
    const auto place = place_in_order::next(who, slot, level);
    const std::uint64_t value = who.random.next();
    const bool throws = who.random.chance(10);
    const auto work = [body = made.body, place, value, throws]() -> std::uint64_t {
        place.begin();
        body();
        if (throws) throw marked{value};
        return value;
    };
    auto result = in_some_size(who.random, *made.of, work, [&](auto&& f) {
        if (stop.stop_possible()) return slot.pool().submit(stop, std::forward<decltype(f)>(f));
        return slot.pool().get_executor(level).submit(std::forward<decltype(f)>(f));
    });
    return waiting_future{std::move(result), made.of, &slot, value, throws};
}

void submit(context& who) {
    if (auto made = submit_to(who, who.any_pool(), {})) who.futures.push_back(std::move(*made));
    if (who.futures.size() > 8) settle(who);
}

/// Waits for a result with limits, cancels it, drops it, or gets it.
void wait(context& who) {
    if (who.futures.empty()) submit(who);
    if (who.futures.empty()) return;
    const std::size_t which = who.random.below(static_cast<unsigned>(who.futures.size()));
    waiting_future awaited = std::move(who.futures[which]);
    who.futures.erase(who.futures.begin() + static_cast<std::ptrdiff_t>(which));
    switch (who.random.below(6)) {
    case 0:
        if (awaited.result.wait_for(std::chrono::microseconds(who.random.below(2000))))
            require(awaited.result.is_ready(), "a wait has ended in time, but there is no result");
        return check_result(awaited);
    case 1: {
        if (awaited.result.wait_for(std::chrono::microseconds(who.random.below(300))))
            return check_result(awaited);
        const bool was_canceled = awaited.result.cancel();
        if (was_canceled) require(awaited.of->alive == 0, "cancel() has left the callable");
        return check_result(awaited, was_canceled);
    }
    case 2: {
        const bool was_canceled = awaited.result.cancel();
        return check_result(awaited, was_canceled);
    }
    case 3:
        return; // the task continues without a future
    default:
        return check_result(awaited);
    }
}

void submit_stop(context& who) {
    std::stop_source source;
    pool_slot& slot = who.any_pool();
    if (who.random.chance(10)) source.request_stop();
    std::vector<waiting_future> made;
    for (unsigned i = who.random.below(4) + 1; i != 0; --i) {
        if (auto one = submit_to(who, slot, source.get_token())) made.push_back(std::move(*one));
    }
    const bool is_stopped = who.random.chance(60) && source.request_stop();
    if (who.random.chance(30)) return;
    for (waiting_future& f : made) check_result(f, is_stopped || source.stop_requested());
}

void bulk(context& who) {
    struct calls {
        std::array<std::atomic<int>, 200> of{};
        std::atomic<int> sum{0};
    };
    pool_slot& slot = who.any_pool();
    const unsigned count = who.random.below(200);
    const auto seen = std::make_shared<calls>();
    const new_task made = make(who, slot, false);
    if (made.of == nullptr) return;
    const auto call = [seen, &slot, body = made.body, throws = who.random.chance(10)](std::size_t i) {
        const doing now("a call of post_bulk");
        require(seen->of[i].fetch_add(1) == 0, "a call of post_bulk came twice", static_cast<long>(i));
        seen->sum.fetch_add(1);
        if (i % 32 != 3) return;
        task_body mine = body;
        mine.seed += i;
        mine();
        if (!throws) return;
        slot.thrown.fetch_add(1, std::memory_order_relaxed);
        throw marked{1};
    };
    const bool is_in = slot.pool().get_executor(some_priority(who.random)).post_bulk(count, call);
    require(is_in || slot.ending, "post_bulk was refused although nobody has ended the pool");
    if (who.is_task() || !is_in || who.random.chance(50)) return;
    try { // tasks that were accepted before end before
        slot.pool().wait_idle();
    } catch (const std::system_error&) {
        fail("wait_idle has thrown outside");
    }
    require(slot.stopped || seen->sum == static_cast<int>(count), "wait_idle came before calls of post_bulk",
            seen->sum, static_cast<long>(count));
}

/// A promise that is moved into a task.
void promise(context& who) {
    pool_slot& slot = who.any_pool();
    const new_task made = make(who, slot, true);
    if (made.of == nullptr) return;
    ekiden::promise<std::uint64_t> giver;
    auto taker = giver.get_future();
    const std::uint64_t value = who.random.next();
    const bool forgets = who.random.chance(10);
    const bool is_in = slot.pool().post(
        [mine = token(*made.of), giver = std::move(giver), value, forgets, body = made.body]() mutable {
            (void)mine.begin();
            if (!forgets) giver.set_value(value);
            body();
        });
    made.of->told = is_in ? fate::accepted : fate::refused;
    try {
        require(taker.get() == value && !forgets, "a promise has given another value");
        require(is_in, "a refused task has kept its promise");
    } catch (const std::future_error& error) {
        require(error.code() == std::future_errc::broken_promise, "a promise reports another error");
        require(forgets || slot.ending, "a promise was broken by nobody");
    }
}

/// Nested waits. Each waits for a task that a worker finds in another place.
void nest(pool_slot& slot, generator random, unsigned levels) {
    const doing now("waits inside waits");
    if (levels == 0) return;
    auto inner = slot.pool().get_executor(some_priority(random)).submit([&slot, random, levels] {
        generator next = random;
        (void)next.next();
        nest(slot, next, levels - 1);
    });
    try {
        inner.get();
    } catch (const std::system_error& error) {
        require(error.code() == std::errc::operation_canceled && slot.ending, "a nested wait has failed");
    }
}

void shallow(context& who) { nest(who.any_pool(), generator(who.random.next()), who.random.below(12)); }
void deep(context& who) { nest(who.any_pool(), generator(who.random.next()), 64 + who.random.below(64)); }

/// A task that posts itself again until another task of its kind has run.
void repost(context& who) {
    struct turns {
        pool_slot& slot;
        std::atomic<bool> sibling_ran{false};
        std::atomic<unsigned> rounds{0};
    };
    struct again {
        std::shared_ptr<turns> of;
        void operator()() const {
            const doing now("a task that posts itself again");
            const unsigned round = of->rounds.fetch_add(1);
            // Another worker may have dequeued the other task.
            if (round % 1000 == 0) std::this_thread::yield();
            require(round < 20'000'000, "a task that posts itself again never lets another one run");
            if (!of->sibling_ran) (void)of->slot.pool().post(again{of});
        }
    };
    pool_slot& slot = who.any_pool();
    const auto shared = std::make_shared<turns>(slot);
    bool is_in = slot.pool().post(some_priority(who.random), again{shared});
    is_in = slot.pool().post(some_priority(who.random), [shared] { shared->sibling_ran = true; }) && is_in;
    require(is_in || slot.ending, "a task was refused although nobody has ended the pool");
    if (!is_in) shared->sibling_ran = true;
}

constexpr std::array of_tasks{
    operation{"post", 30, operation::anybody, &post},
    operation{"submit", 20, operation::anybody, &submit},
    operation{"wait", 20, operation::anybody, &wait},
    operation{"submit_stop", 6, operation::anybody, &submit_stop},
    operation{"bulk", 2, operation::anybody, &bulk},
    operation{"promise", 5, operation::drivers, &promise},
    operation{"shallow", 3, operation::anybody, &shallow},
    operation{"deep", 1, operation::drivers, &deep},
    operation{"repost", 2, operation::anybody, &repost},
};

} // namespace

std::span<const operation> task_operations() noexcept { return of_tasks; }

new_task make(context& by, pool_slot& slot, bool must_run) {
    const bool is_at_home = by.is_at_home && (!by.is_task() || by.home == &slot);
    tally& origin = is_at_home ? slot.of_driver[by.driver] : by.in.loose;
    record* const of = by.in.records.add(origin, slot.stopped, must_run);
    return {of, {&by.in, by.random.next(), by.driver, &slot, is_at_home, by.depth + 1}};
}

void settle(context& who) {
    for (waiting_future& f : who.futures) check_result(f);
    who.futures.clear();
}

} // namespace pool_random
