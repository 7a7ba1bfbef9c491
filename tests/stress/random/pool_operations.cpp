// Operations on whole pools, and threads that start and end.
#include "world.hpp"

#include <chrono>
#include <thread>

namespace pool_random {

namespace {

using namespace std::chrono_literals;

/// Posts and submits when its thread ends. The thread is a retiring worker or an outside thread.
class leaver {
public:
    static leaver& here() {
        static thread_local leaver mine;
        return mine;
    }
    void add(const task_body& body, record& of, bool waits) {
        last_wishes_.push_back({body, token(of), waits});
    }

    ~leaver() {
        const doing now("posts from the destructor of a thread_local object");
        for (wish& w : last_wishes_) {
            ekiden::thread_pool& pool = w.body.slot->pool();
            if (!w.waits) {
                (void)pool.post([w = std::move(w)]() mutable {
                    (void)w.mine.begin();
                    w.body();
                });
                continue;
            }
            try {
                pool.submit([w = std::move(w)]() mutable {
                        (void)w.mine.begin();
                        w.body();
                    })
                    .get();
            } catch (const std::system_error& error) {
                require(error.code() == std::errc::operation_canceled, "a thread's last task has failed");
            }
        }
    }

private:
    struct wish {
        task_body body;
        token mine;
        bool waits;
    };
    std::vector<wish> last_wishes_;
};

void wish(context& who, bool waits) {
    // A worker ends with its pool, so it can only use that pool then.
    pool_slot& slot = who.is_task() ? *who.home : who.any_pool();
    if (who.in.nesting != 0 && !who.is_task()) return; // this thread outlives its own pools
    for (unsigned i = who.random.below(20) + 1; i != 0; --i) {
        record* const of = who.in.records.add(who.in.loose, slot.stopped, false);
        if (of == nullptr) return;
        leaver::here().add({&who.in, who.random.next(), who.driver, &slot, false, 100}, *of, waits && i == 1);
    }
}
void exit_post(context& who) { wish(who, false); }
void exit_wait(context& who) { wish(who, true); }

/// A task that is posted to a paused pool begins after the pool is resumed.
void pause(context& who) {
    pool_slot& slot = who.any_pool();
    std::atomic<int> begun{0};
    slot.pool().pause();
    unsigned posted = 0;
    for (unsigned i = who.random.below(6); i != 0; --i) {
        if (slot.pool().post(who.random.chance(50) ? ekiden::priority::normal : ekiden::priority::high,
                             [&begun] { ++begun; }))
            ++posted;
        if (who.random.chance(20)) std::this_thread::sleep_for(100us);
    }
    const int early = begun;
    require(early == 0 || slot.ending, "a task began while its pool was paused", early);
    slot.pool().resume();
    slot.pool().wait_idle(); // the tasks use this stack
    require(slot.stopped || begun == static_cast<int>(posted), "wait_idle came before tasks posted", begun,
            static_cast<long>(posted));
}

/// Tasks that run when a pool is paused continue to their end, even if they wait.
void pause_wait(context& who) {
    ekiden::thread_pool pool({.threads = who.random.below(3) + 1});
    ekiden::promise<int> giver;
    std::atomic<bool> has_begun{false};
    auto running = pool.submit([&has_begun, given = giver.get_future()]() mutable {
        has_begun = true;
        return given.get();
    });
    while (!has_begun) std::this_thread::yield();
    for (unsigned i = who.random.below(4); i != 0; --i) pool.post([] {});
    pool.pause();
    for (unsigned i = who.random.below(4); i != 0; --i) pool.post([] {});
    giver.set_value(7);
    require(running.get() == 7, "a wait in a paused pool had another result");
    pool.resume();
}

/// Idle means that everything this thread has posted before has ended, including the tasks that those posted.
void wait_idle(context& who) {
    pool_slot& slot = who.any_pool();
    slot.pool().wait_idle();
    const tally& mine = slot.of_driver[who.driver];
    require(mine.made == mine.ended, "wait_idle came before tasks accepted earlier", mine.ended, mine.made);
}

void stop(context& who) {
    pool_slot& slot = who.any_pool();
    if (!who.random.chance(20)) return;
    slot.ending = true;
    slot.stopped = true;
    slot.pool().stop();
    require(!slot.pool().post([] {}), "a stopped pool has accepted a task");
}

void join(context& who) {
    pool_slot& slot = who.any_pool();
    if (!who.random.chance(20)) return;
    slot.ending = true;
    slot.pool().join();
    require(!slot.pool().post([] {}), "a joined pool has accepted a task");
    require(slot.pool().metrics().tasks_pending == 0, "a joined pool has tasks pending",
            static_cast<long>(slot.pool().metrics().tasks_pending));
}

void own_pool(context& who) {
    if (who.depth > 1 || who.in.nesting > 1) return;
    run_in_own_pools(who, who.random.below(8) + 1);
}

/// Another thread posts a task. This thread destroys the pool as soon as it sees the effect of the task.
void destroy_on_effect(context& who) {
    auto pool = std::make_unique<ekiden::thread_pool>(
        ekiden::thread_pool_options{.threads = who.random.below(2) + 1});
    const auto done = std::make_shared<std::atomic<bool>>(false);
    const auto level = who.random.chance(50) ? ekiden::priority::normal : ekiden::priority::low;
    std::thread poster([&target = *pool, done, level] { target.post(level, [done] { *done = true; }); });
    while (!*done) std::this_thread::yield();
    pool.reset();
    poster.join();
}

/// A thread that posts a few tasks and ends.
void visitor(context& who) {
    const std::uint64_t seed = who.random.next();
    std::thread([&who, seed] {
        const doing now("a thread that visits");
        context guest{who.in, generator(seed), who.driver, nullptr, false, who.depth + 1};
        act(guest, 4);
    }).join();
}

/// More threads than there are rings.
void crowd(context& who) {
    pool_slot& slot = who.any_pool();
    if (!who.random.chance(20)) return;
    std::atomic<int> accepted{0};
    const auto ran = std::make_shared<std::atomic<int>>(0);
    std::vector<std::thread> threads;
    for (int i = 0; i != 70; ++i) {
        threads.emplace_back([&] {
            const doing now("a thread of a crowd");
            for (int k = 0; k != 3; ++k) accepted += slot.pool().post([ran] { ++*ran; }) ? 1 : 0;
        });
    }
    for (std::thread& t : threads) t.join();
    slot.pool().wait_idle();
    require(slot.stopped || *ran == accepted, "wait_idle came before a crowd's tasks", *ran, accepted);
}

void metrics(context& who) {
    const auto now = who.any_pool().pool().metrics();
    require(now.tasks_pending < 1U << 30U, "metrics: tasks pending", static_cast<long>(now.tasks_pending));
    require(now.threads <= now.peak_threads, "metrics: threads", now.threads, now.peak_threads);
    require(now.threads_blocked <= now.threads, "metrics: threads blocked", now.threads_blocked, now.threads);
    require(now.threads_standing_by <= now.threads, "metrics: threads standing by", now.threads_standing_by,
            now.threads);
}

void default_pool(context& who) {
    if (who.is_task()) require(&ekiden::this_pool() == &who.home->pool(), "this_pool() is not the task's");
    auto result =
        ekiden::default_pool().submit([] { return &ekiden::this_pool() == &ekiden::default_pool(); });
    require(result.get(), "this_pool() is not the default pool in its worker");
}

constexpr std::array of_pools{
    operation{"exit_post", 3, operation::anybody, &exit_post},
    operation{"exit_wait", 1, operation::anybody, &exit_wait},
    operation{"pause", 3, operation::first_driver, &pause},
    operation{"pause_wait", 2, operation::first_driver, &pause_wait},
    operation{"wait_idle", 3, operation::drivers, &wait_idle},
    operation{"stop", 1, operation::drivers, &stop},
    operation{"join", 1, operation::drivers, &join},
    operation{"own_pool", 2, operation::anybody, &own_pool},
    operation{"destroy_on_effect", 1, operation::drivers, &destroy_on_effect},
    operation{"visitor", 2, operation::drivers, &visitor},
    operation{"crowd", 1, operation::drivers, &crowd},
    operation{"metrics", 5, operation::anybody, &metrics},
    operation{"default_pool", 2, operation::anybody, &default_pool},
};

/// Options of a small pool, or of a pool with any number of threads, possibly with more for blocked ones, and
/// with or without a watch.
ekiden::thread_pool_options some_options(generator& random, bool is_small, pool_slot& slot) {
    ekiden::thread_pool_options chosen{.threads = is_small ? 1 + random.below(2) : 1 + random.below(4)};
    if (random.chance(50)) {
        chosen.max_threads = chosen.threads + 1 + random.below(3);
        chosen.keep_alive = std::chrono::milliseconds(random.chance(60) ? 0 : random.below(10));
    }
    chosen.watch_interval = std::chrono::milliseconds(random.below(3));
    chosen.name = "random";
    if (random.chance(50)) {
        // A reported circle would be wrong, because a waiter has created what it waits for.
        chosen.on_stall = [](const ekiden::stall_report& told) {
            require(told.why != ekiden::stall_report::reason::deadlocked, "a circle was found in none");
        };
    }
    chosen.on_unhandled_exception = [&slot](const std::exception_ptr&, std::string_view) {
        slot.handled.fetch_add(1, std::memory_order_relaxed);
    };
    slot.is_single = chosen.threads == 1 && chosen.max_threads == 0;
    return chosen;
}

} // namespace

std::span<const operation> pool_operations() noexcept { return of_pools; }

pool_slot::pool_slot(generator& random, bool is_small)
    : owner_(std::make_unique<ekiden::thread_pool>(some_options(random, is_small, *this))),
      pool_(owner_.get()) {}

void run_in_own_pools(context& who, unsigned of_pools) {
    std::array pools{std::make_unique<pool_slot>(who.random, true)};
    world inner(pools, who.in.nesting + 1);
    context owner{inner, generator(who.random.next()), 0, nullptr, true, who.depth + 1};
    act(owner, of_pools);
    inner.close(who.random);
}

void world::close(generator& random) {
    for (const auto& slot : pools) {
        if (pools.size() == 1 && random.chance(70)) break; // the destructor joins it
        slot->ending = true;
        slot->pool().join(); // all of them first, because their tasks use each other's pools
    }
    for (const auto& slot : pools) {
        slot->destroy_pool();
        require(slot->thrown == slot->handled, "exceptions that the handler did not get", slot->handled,
                slot->thrown);
    }
    records.check();
}

} // namespace pool_random
