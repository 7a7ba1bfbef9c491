#include "world.hpp"

#include "random.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace seams {

using std::chrono::microseconds;
using std::chrono::milliseconds;

key_owner::key_owner(world& w, place_slot* p) noexcept : in(&w), place(p) {
    in->keys.fetch_add(1, std::memory_order_relaxed);
}

/// The key belongs to the library at this moment, or to a caller that is inside the context.
key_owner::~key_owner() {
    in->keys.fetch_sub(1, std::memory_order_relaxed);
    if (place == nullptr) return;
    static const action nothing{kind::post};
    post_from_destructor(*in, nothing, *place);
}

// ---- contexts

context_slot::context_slot(world& w, const context_plan& p) : in(w), of(p) {
    const auto handler = [this](std::exception_ptr failure, std::string_view) { count(failure); };
    switch (of.what) {
    case context_plan::type::pool: {
        ekiden::thread_pool_options chosen_options;
        chosen_options.threads = of.threads;
        chosen_options.max_threads = of.max_threads;
        chosen_options.keep_alive = milliseconds(of.keep_alive_ms);
        chosen_options.watch_interval = milliseconds(of.watch_ms);
        chosen_options.spin_time = microseconds(of.spin_us);
        chosen_options.on_unhandled_exception = handler;
        chosen_options.on_stall = [](const ekiden::stall_report&) {};
        owned_pool_ = std::make_unique<ekiden::thread_pool>(chosen_options);
        pool = owned_pool_.get();
        break;
    }
    case context_plan::type::loop:
        loop = std::make_unique<ekiden::loop_context>(of.hint);
        guards.emplace_back(ekiden::make_work_guard(executor(0)));
        for (unsigned i = 0; i != of.threads; ++i) runners.emplace_back([this] { run_loop(); });
        break;
    case context_plan::type::simulated:
        simulated = std::make_unique<ekiden::sim_context>(
            ekiden::sim_context::options{.name = "context", .in_order = of.threads == 1});
        break;
    default: {
        ekiden::loop_pool_options chosen_options;
        chosen_options.threads = of.threads;
        chosen_options.on_unhandled_exception = handler;
        loops = std::make_unique<ekiden::loop_pool>(chosen_options);
    }
    }
}

void context_slot::run_loop() {
    for (;;) {
        try {
            loop->run();
            return;
        } catch (...) {
            count(std::current_exception());
        }
    }
}

void context_slot::count(const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const executor_failed&) {
        told.fetch_add(1, std::memory_order_relaxed);
    } catch (const marked&) {
        handled.fetch_add(1, std::memory_order_relaxed);
    } // another exception ends the program
}

ekiden::any_executor context_slot::executor(unsigned thread) const {
    if (pool) return pool->get_executor();
    if (loop) return loop->get_executor();
    if (simulated) return simulated->get_executor();
    return loops->get_executor(thread);
}

void context_slot::stop() noexcept {
    std::uint64_t none = 0;
    stop_begun.compare_exchange_strong(none, in.tick());
    if (pool) pool->stop();
    if (loop) loop->stop();
    if (loops) loops->stop();
    if (simulated) simulated->stop();
    none = 0;
    if (pool || simulated) stopped.compare_exchange_strong(none, in.tick()); // a loop keeps its tasks
}

void context_slot::pause() noexcept {
    const std::lock_guard guard(pause_lock);
    pool->pause();
    if (!is_ending && paused == 0) paused = in.tick();
}

void context_slot::resume() noexcept {
    const std::lock_guard guard(pause_lock);
    paused = 0;
    pool->resume();
}

void context_slot::quiesce() {
    is_closed = true;
    while (users != 0) { // a coroutine that moves here counts as a user until it has arrived
        if (of.is_paused) resume();
        std::this_thread::sleep_for(microseconds(30));
    }
    progress();
    {
        const std::lock_guard guard(pause_lock);
        is_ending = true;
        paused = 0;
    }
    end_begun = in.tick();
    if (!of.is_graceful) stop();
    const bool has_handles = std::any_of(in.places.begin(), in.places.end(), [this](const place_slot& p) {
        return &p.context == this && p.is_serial();
    });
    if (pool && (of.joins_first || has_handles || in.contexts.size() > 1)) pool->join();
    for (auto& g : guards) g.reset();
    for (std::thread& t : runners) t.join();
    if (loops) loops->join();
    has_quiesced = true;
    progress();
}

void context_slot::destroy() {
    for (group_slot& g : in.groups) {
        if (&g.context != this) continue;
        g.last = g.lanes->metrics();
        g.last.delays.clear(); // they hold keys
    }
    for (place_slot& p : in.places)
        if (&p.context == this && p.is_serial()) p.executor = ekiden::any_executor();
    for (group_slot& g : in.groups)
        if (&g.context == this) g.lanes.reset();
    {
        const std::unique_ptr<ekiden::thread_pool> ended = std::move(owned_pool_);
    }
    loop.reset();
    loops.reset();
    simulated.reset();
    is_destroyed = true;
    progress();
}

// ---- places

group_slot::group_slot(world& w, const lanes_plan& p) : of(p), context(w.contexts[p.context]) {
    ekiden::lanes_options o;
    o.lane_capacity = of.lane_capacity;
    o.capacity = of.capacity;
    o.policy = of.policy;
    o.shards = of.shards;
    ekiden::any_executor inner = context.executor(0);
    if (of.fails_each != 0) inner = failing_executor(inner, executor_count, of.fails_each);
    lanes = std::make_unique<lanes_type>(inner, o);
}

place_slot::place_slot(world& w, const place_plan& p) : in(w), of(p), context(w.contexts[p.context]) {
    switch (of.what) {
    case place_plan::type::plain:
        executor = context.executor(of.number);
        break;
    case place_plan::type::strand:
        executor = ekiden::strand<ekiden::any_executor>(context.executor(of.number));
        break;
    default:
        group = &w.groups[of.number];
        executor = group->lanes->get_executor(lane_key{of.key, nullptr});
    }
}

lane_key place_slot::key() const { return key(of.key); }

lane_key place_slot::key(int number) const {
    auto* const self = const_cast<place_slot*>(this);
    return {number, group->of.keys_call_back ? std::make_shared<key_owner>(in, self) : nullptr};
}

std::vector<key_use> keys_of(const record& r) {
    place_slot& own = *r.place;
    if (r.how != kind::request) return {{own.of.key, false, &own}};
    const std::uint32_t number = r.of->number;
    std::vector<key_use> all{{own.of.key, number % 2 == 1, &own}};
    // Keys 0 and 1 may have places. The order of the keys is random, too.
    for (unsigned i = 0; i != number / 2 % 4; ++i) {
        const unsigned drawn = number >> (4 + 4 * i);
        const auto key = static_cast<int>(drawn % 4);
        if (std::any_of(all.begin(), all.end(), [key](const key_use& k) { return k.number == key; }))
            continue;
        key_use other{key, drawn / 4 % 2 == 1, nullptr};
        for (place_slot& p : own.in.places)
            if (p.group == own.group && p.of.key == key) other.place = &p;
        all.push_back(other);
    }
    return all;
}

// ---- the program

world::world(const plan& p) : of(p), records(600) {
    for (const context_plan& c : of.contexts) contexts.emplace_back(*this, c);
    for (const lanes_plan& g : of.groups) groups.emplace_back(*this, g);
    for (const place_plan& at : of.places) places.emplace_back(*this, at);
}
world::~world() = default;

record* world::make_record(const action& of_action, place_slot& where, kind how) {
    const unsigned i = records_used.load(std::memory_order_relaxed) < records.size()
                           ? records_used.fetch_add(1, std::memory_order_relaxed)
                           : static_cast<unsigned>(records.size());
    if (i >= records.size()) return nullptr;
    record& r = records[i];
    r.in = this;
    r.of = &of_action;
    r.place = &where;
    r.how = how;
    return &r;
}

void world::run() {
    std::vector<std::thread> drivers;
    std::atomic<bool> is_running{true};
    for (unsigned i = 1; i < of.drivers.size(); ++i)
        drivers.emplace_back([this, i] { act({*this, nullptr, static_cast<int>(i)}, of.drivers[i]); });
    const bool may_pause = std::any_of(of.contexts.begin(), of.contexts.end(),
                                       [](const context_plan& c) { return c.is_paused; });
    std::thread resumer;
    if (may_pause) { // everything paused is resumed at some time, as long as drivers may wait for it
        resumer = std::thread([this, &is_running] {
            const actor nobody{*this};
            while (is_running) {
                for (context_slot& c : contexts) {
                    if (!c.of.is_paused) continue;
                    if (const entry in(c, nobody); in) c.resume();
                }
                std::this_thread::sleep_for(microseconds(100));
            }
        });
    }
    act({*this, nullptr, 0}, of.drivers[0]);
    for (std::thread& d : drivers) d.join();
    quiesce();
    is_running = false;
    if (resumer.joinable()) resumer.join();
    end();
}

void world::quiesce() {
    generator random(of.end_order);
    std::vector<unsigned> order(contexts.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random.below(static_cast<unsigned>(i))]);
    // Contexts that drop their tasks end first, because others may wait for the results of these tasks.
    std::partition(order.begin(), order.end(), [this](unsigned i) { return !contexts[i].of.is_graceful; });
    for (const unsigned i : order)
        if (!contexts[i].has_quiesced) contexts[i].quiesce();
    end_order = order;
}

void world::end() {
    for (const unsigned i : end_order)
        if (!contexts[i].is_destroyed) contexts[i].destroy();
    for (std::thread& h : helpers) h.join();
    for (pending& f : futures) {
        if (!f.result.is_ready()) fail("a result is not there although all contexts have ended", f.of);
        const bool may_fail = f.of == nullptr || (f.of->of->throws || f.of->runs != f.of->accepted);
        try {
            const int value = f.result.get();
            const record* const by = f.then != nullptr ? f.then : f.of;
            if (by != nullptr && by->runs != 1)
                fail("a future has a value of a function that has not run", by);
            if (by != nullptr && value != static_cast<int>(by->of->index))
                fail("a future has a wrong value", by);
        } catch (const marked&) {
        } catch (const std::exception&) {
            if (!may_fail && f.then == nullptr && f.of->runs != 0)
                fail("a future has an error although its function has run", f.of);
        }
    }
    futures.clear();
    check_accounts(*this);
}

} // namespace seams
