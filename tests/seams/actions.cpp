/// Executes actions, except those of coroutines.
#include "world.hpp"

#include <chrono>
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

namespace seams {

namespace {

using std::chrono::microseconds;

void act_one(const actor& who, const action& a);

/// For a callable that another action waits for. Notifies it even if the callable is dropped.
struct told {
    explicit told(std::shared_ptr<ekiden::event> e) noexcept : of(std::move(e)) {}
    told(told&&) = default;
    told(const told&) = delete;
    told& operator=(const told&) = delete;
    told& operator=(told&&) = delete;
    ~told() {
        if (of) of->set();
    }
    std::shared_ptr<ekiden::event> of;
};

/// Returns whether a post to that place may run other functions on this thread.
call_scope::type during_post(const place_slot& p) {
    return p.is_blocking() ? call_scope::type::helps : call_scope::type::plain;
}

bool give(place_slot& p, record& r) {
    call c(r);
    const unsigned variant = r.of->number % 4;
    if (p.group != nullptr) {
        if (!p.group->lanes) return false;
        const auto& lanes = *p.group->lanes;
        switch (r.how) {
        case kind::defer:
            return lanes.defer(p.key(), std::move(c));
        case kind::dispatch:
            lanes.dispatch(p.key(), std::move(c));
            return true;
        case kind::request: {
            std::vector<lane_key> written;
            std::vector<lane_key> shared;
            for (const key_use& k : keys_of(r)) (k.is_shared ? shared : written).push_back(p.key(k.number));
            if (r.of->number >> 30U == 0)
                return lanes.defer(lanes.keys().read_all(shared).write_all(written), std::move(c));
            return lanes.post(lanes.keys().write_all(written).read_all(shared), std::move(c));
        }
        default:
            if (variant == 0) return p.executor.post(std::move(c));
            return lanes.post(p.key(), std::move(c));
        }
    }
    if (!p.executor || p.context.is_destroyed) return false;
    switch (r.how) {
    case kind::defer:
        return p.executor.defer(std::move(c));
    case kind::dispatch:
        p.executor.dispatch(std::move(c));
        return true;
    case kind::post_last:
        return p.executor.post_last(std::move(c));
    default:
        if (variant == 1) return p.executor.post(large_call{std::move(c)});
        if (variant == 3 && p.context.pool && !p.is_serial())
            return p.context.pool->post(static_cast<ekiden::priority>(r.of->number / 4 % 3), std::move(c));
        return p.executor.post(std::move(c));
    }
}

void check_refusal(const record& r, std::uint64_t before) {
    const std::uint64_t stopped = r.place->context.stopped.load(std::memory_order_relaxed);
    if (stopped == 0 || before < stopped || r.how == kind::dispatch || !chosen().is_on(trait::stop_check))
        return;
    const group_slot* const g = r.place->group;
    if (g != nullptr && g->of.policy == ekiden::when_full::drop_newest) return;
    fail("a post after stop() was accepted", &r);
}

} // namespace

bool deliver(const actor& who, record& r) {
    place_slot& p = *r.place;
    if (who.at != nullptr && &who.at->context == &p.context) r.from_inside = true;
    if (who.at == nullptr) r.driver = who.driver;
    const std::uint64_t before = p.in.tick();
    r.before.store(before, std::memory_order_relaxed);
    r.accepted.fetch_add(1, std::memory_order_relaxed);
    bool is_in = false;
    bool is_refused = p.group == nullptr || p.group->lanes;
    try {
        // Otherwise it may wait for room.
        const bool is_in_place = r.how == kind::dispatch && !p.is_blocking();
        const call_scope now(is_in_place ? call_scope::type::in_place : during_post(p), &r);
        is_in = give(p, r);
    } catch (const executor_failed&) {
        is_refused = false;   // reported by an exception
    } catch (const marked&) { // from a function that dispatch() has called
        p.context.handled.fetch_add(1, std::memory_order_relaxed);
        is_in = true;
    }
    r.after.store(p.in.tick(), std::memory_order_relaxed);
    if (is_in) {
        check_refusal(r, before);
        return true;
    }
    r.accepted.fetch_sub(1, std::memory_order_relaxed);
    if (is_refused) r.refused.fetch_add(1, std::memory_order_relaxed);
    return false;
}

namespace {

void post(const actor& who, const action& a) {
    place_slot& p = who.in.places[a.place];
    const entry in(p.context, who);
    if (!in) return;
    record* const r = who.in.make_record(a, p, a.what);
    if (r == nullptr) return;
    if (a.what == kind::repost) r->left = 1 + static_cast<int>(a.number % 90);
    deliver(who, *r);
}

void bulk(const actor& who, const action& a) {
    place_slot& p = who.in.places[a.place];
    const entry in(p.context, who);
    if (!in || !p.executor) return;
    record* const r = who.in.make_record(a, p, kind::bulk);
    if (r == nullptr) return;
    r->from_inside = who.at != nullptr && &who.at->context == &p.context;
    const int count = 1 + static_cast<int>(a.number % 80);
    r->before = who.in.tick();
    r->accepted = count;
    bool is_in = false;
    bool has_thrown = false;
    try {
        const call_scope now(during_post(p));
        is_in = p.executor.post_bulk(static_cast<std::size_t>(count), call(*r));
    } catch (const executor_failed&) {
        has_thrown = true;
    }
    r->after = who.in.tick();
    if (is_in) return;
    r->accepted = 0;
    r->refused = has_thrown ? 0 : 1;
}

/// Calls submit(), and get() if the action waits.
void submit(const actor& who, const action& a) {
    place_slot& p = who.in.places[a.place];
    const entry in(p.context, who);
    if (!in || !p.executor) return;
    record* const r = who.in.make_record(a, p, kind::submit);
    if (r == nullptr) return;
    r->from_inside = who.at != nullptr && &who.at->context == &p.context;
    r->before = who.in.tick();
    r->accepted = 1;
    try {
        ekiden::future<int> f = [&] {
            const call_scope now(during_post(p));
            return p.executor.submit(valued_call{call(*r)});
        }();
        r->after = who.in.tick();
        if (a.what == kind::get) {
            const call_scope now(who.at != nullptr ? call_scope::type::helps : call_scope::type::plain);
            f.wait();
            if (r->copies != 0) fail("the callable lives on although its future is ready", r);
        }
        const std::lock_guard guard(who.in.lock);
        who.in.futures.push_back({std::move(f), r, nullptr});
    } catch (const executor_failed&) {
        r->accepted = 0;
    }
    // The future reports a failure.
    r->may_be_dropped = true;
}

void then(const actor& who, const action& a) {
    context_slot& from = who.in.contexts[a.context];
    place_slot& p = who.in.places[a.place];
    const entry in_from(from, who);
    const entry in_to(p.context, who);
    if (!in_from || !in_to || !p.executor) return;
    place_slot* source = nullptr;
    for (place_slot& s : who.in.places)
        if (&s.context == &from && !s.is_serial()) source = &s;
    static const action nothing{kind::submit};
    record* const first = who.in.make_record(nothing, *source, kind::submit);
    record* const second = who.in.make_record(a, p, kind::then);
    if (second == nullptr) return;
    first->accepted = second->accepted = 1;
    first->may_be_dropped = true;
    const call_scope now(call_scope::type::plain);
    const auto time = from.pool ? a.number % 4 * 100 : 0;
    auto f = from.executor(0).submit([c = valued_call{call(*first)}, time] {
        if (time != 0) std::this_thread::sleep_for(microseconds(time));
        return c();
    });
    auto g = f.then(p.executor, [c = valued_call{call(*second)}](int) { return c(); });
    const std::lock_guard guard(who.in.lock);
    who.in.futures.push_back({std::move(g), first, second});
}

void group(const actor& who, const action& a) {
    context_slot& c = who.in.contexts[a.context];
    const entry in(c, who);
    if (!in) return;
    place_slot* plain = nullptr;
    for (place_slot& s : who.in.places)
        if (&s.context == &c && !s.is_serial()) plain = &s;
    std::vector<record*> made;
    ekiden::task_group tasks(*c.pool,
                             a.number % 2 == 0 ? ekiden::on_error::run_all : ekiden::on_error::stop_rest);
    for (unsigned i = 0; i != 1 + a.number / 2 % 3; ++i) {
        record* const r = who.in.make_record(a, *plain, kind::group);
        if (r == nullptr) break;
        made.push_back(r);
        r->accepted = 1;
        r->may_be_dropped = a.number % 5 == 0 || tasks.stop_requested() || a.throws || a.number % 2 == 1;
        const call_scope now(call_scope::type::plain);
        tasks.spawn(call(*r));
    }
    if (a.number % 5 == 0) tasks.request_stop();
    try {
        const call_scope now(who.at != nullptr ? call_scope::type::helps : call_scope::type::plain);
        tasks.wait();
    } catch (...) { // from a member, or operation_canceled
    }
    for (const record* r : made)
        if (r->copies != 0) fail("wait() of a group has returned before a member ended", r);
}

// ---- fork-join

void fork(const actor& who, const action& a) {
    context_slot& c = who.in.contexts[a.context];
    const entry in(c, who);
    if (!in) return;
    constexpr unsigned parts = 3;
    constexpr unsigned turns = 40;
    std::atomic<unsigned> calls{0};
    const actor inside{who.in, who.at}; // runs on any thread, so its posts have no order
    const auto part = [&](std::size_t i) {
        calls.fetch_add(1, std::memory_order_relaxed);
        for (std::size_t spin = 0; spin != (a.number + i) % 3 * 200; ++spin) progress();
        for (std::size_t k = i; k < a.body.size(); k += parts) act_one(inside, a.body[k]);
    };
    const auto turn = [&](unsigned i) {
        calls.fetch_add(1, std::memory_order_relaxed);
        if (i % 20 == 7 && i / 20 < a.body.size()) act_one(inside, a.body[i / 20]);
    };
    bool has_thrown = false;
    try {
        const call_scope now(call_scope::type::plain);
        if (a.what == kind::fork)
            ekiden::parallel_invoke(*c.pool, [&] { part(0); }, [&] { part(1); }, [&] { part(2); });
        else
            ekiden::parallel_for(*c.pool, 0U, turns, turn);
    } catch (const marked&) {
        has_thrown = true;
    }
    if (a.what == kind::fork ? calls != parts : !has_thrown && calls != turns)
        fail("a call of fork-join was left out", nullptr, calls);
}

/// Returns how many maps run after an exception of combine. The exception is thrown where a number is added
/// to a piece. If `in_joint`, it is thrown where two pieces are joined. No map is running there that could
/// report it.
int maps_after_exception(ekiden::thread_pool& pool, bool in_joint) {
    constexpr int numbers = 20'000;
    struct piece {
        int sum = 0;
    };
    std::atomic<bool> has_thrown{false};
    std::atomic<int> later{0};
    const auto map = [&](int i) {
        if (has_thrown) later.fetch_add(1, std::memory_order_relaxed);
        progress();
        return i;
    };
    const auto throws_once = [&] {
        if (!has_thrown.exchange(true)) throw marked();
    };
    struct combiner {
        const decltype(throws_once)& fails;
        bool in_joint;
        piece operator()(piece x, int y) const {
            if (!in_joint && x.sum + y > 50) fails();
            return {(x.sum + y) % 100};
        }
        piece operator()(piece x, piece y) const {
            fails();
            return {(x.sum + y.sum) % 100};
        }
    };
    ekiden::loop_options options;
    options.deterministic = in_joint;
    try {
        const call_scope now(call_scope::type::plain);
        (void)ekiden::parallel_reduce(pool, 0, numbers, piece{}, map, combiner{throws_once, in_joint},
                                      options);
    } catch (const marked&) {
    }
    return later > numbers / 2 ? later.load() : 0;
}

/// The thread that throws may be delayed meanwhile, but not three times.
void reduce(const actor& who, const action& a) {
    context_slot& c = who.in.contexts[a.context];
    const entry in(c, who);
    if (!in) return;
    int later = 0;
    for (int i = 0; i != 3; ++i) {
        later = maps_after_exception(*c.pool, a.number % 2 == 0);
        if (later == 0) return;
    }
    fail("a reduction goes on after an exception of combine", nullptr, later);
}

// ---- timers

using timer_type = ekiden::steady_timer;

struct timer_handler {
    call of;
    std::shared_ptr<timer_type> keeps;
    void operator()(std::error_code error) const {
        progress();
        if (error) {
            of.of().may_be_dropped = true; // notifies the waiting action
            return;
        }
        of();
    }
};

void timer(const actor& who, const action& a) {
    context_slot& c = who.in.contexts[a.context];
    place_slot& p = who.in.places[a.place];
    const entry in_timers(c, who);
    const entry in_place(p.context, who);
    if (!in_timers || !in_place || !p.executor) return;
    record* const r = who.in.make_record(a, p, kind::timer);
    if (r == nullptr) return;
    r->from_inside = true; // a pending timer is outstanding work
    r->is_guarded = true;
    r->accepted = 1;
    const unsigned of = a.number / 16 % std::max(1U, c.of.threads);
    const call_scope now(call_scope::type::plain);
    const auto t =
        std::make_shared<timer_type>(c.executor(of), microseconds(a.number % 5 == 0 ? 0 : a.number % 700));
    t->async_wait(ekiden::bind_executor(p.executor, timer_handler{call(*r), t}));
    if (a.number % 4 == 1 && t->cancel() == 1) r->must_not_run = true;
}

/// Work in another thread, with a work guard. It posts its end.
void guard(const actor& who, const action& a) {
    place_slot& p = who.in.places[a.place];
    const entry in(p.context, who);
    if (!in || !p.executor) return;
    record* const r = who.in.make_record(a, p, kind::post);
    if (r == nullptr) return;
    r->is_guarded = true;
    auto work = ekiden::make_work_guard(p.executor);
    std::thread helper([w = std::move(work), r, &p, time = a.number % 400]() mutable {
        std::this_thread::sleep_for(microseconds(time));
        deliver({p.in}, *r);
        w.reset();
    });
    const std::lock_guard guard(who.in.lock);
    who.in.helpers.push_back(std::move(helper));
}

// ---- threads that block

void block(const actor& who, const action& a) {
    const ekiden::blocking_region region("a test");
    act(who, a.body);
    std::this_thread::sleep_for(microseconds(a.number % 300));
}

void locked(const actor& who, const action& a) {
    const std::lock_guard guard(who.in.mutex);
    act(who, a.body);
}

/// A callable waits in a blocking_region for another one, which a spare thread runs.
void await_other(const actor& who, const action& a) {
    place_slot& p = who.in.places[a.place];
    const auto e = std::make_shared<ekiden::event>();
    const ekiden::blocking_region region("a test");
    {
        const call_scope now(call_scope::type::plain);
        if (a.what == kind::await_deferred) {
            (void)p.executor.defer([last = told(e)] { progress(); });
        } else {
            const auto t = std::make_shared<timer_type>(p.executor, microseconds(a.number % 300));
            t->async_wait([last = told(e), t](std::error_code) { progress(); });
        }
    }
    act(who, a.body);
    e->wait();
}

/// Posts when the thread_local object of a thread is destroyed.
struct posts_at_end {
    std::vector<record*> all;
    ~posts_at_end() {
        for (record* const r : all) deliver({*r->in, r->place}, *r);
    }
};
thread_local posts_at_end at_thread_end;

void thread_end(const actor& who, const action& a) {
    record* const r = who.in.make_record(a, *who.at, kind::post);
    if (r == nullptr || who.at->is_serial()) return;
    r->is_at_thread_end = true;
    at_thread_end.all.push_back(r);
}

// ---- ends, waits and state changes

void lane_idle(const actor& who, const action& a) {
    place_slot& p = who.in.places[a.place];
    const entry in(p.context, who);
    if (!in) return;
    const bool is_beneath = is_inside(p);
    try {
        const call_scope now(who.at != nullptr ? call_scope::type::helps : call_scope::type::plain);
        p.group->lanes->wait_idle(lane_key{p.of.key, nullptr});
        if (is_beneath) fail("wait_idle() of a lane returns inside of that lane");
    } catch (const std::system_error&) {
        if (!is_beneath) fail("wait_idle() of a lane throws outside of that lane");
    }
}

void metrics(const actor& who, const action& a) {
    context_slot& c = who.in.contexts[a.context];
    const entry in(c, who);
    if (!in || !c.pool) return;
    const ekiden::thread_pool_metrics m = c.pool->metrics();
    constexpr std::uint64_t absurd = 1ULL << 40U;
    if (m.tasks_run > absurd || m.tasks_pending > absurd || m.tasks_abandoned > absurd)
        fail("metrics of a pool are below zero");
}

void end_or_state(const actor& who, const action& a) {
    context_slot& c = who.in.contexts[a.context];
    if (a.what == kind::end) {
        if (c.has_quiesced) return;
        c.quiesce();
        c.destroy();
        return;
    }
    const entry in(c, who);
    if (!in) return;
    const call_scope now(call_scope::type::plain);
    if (a.what == kind::pause) c.pause();
    if (a.what == kind::stop) c.stop();
    if (a.what == kind::pool_idle) c.pool->wait_idle();
}

void close(const actor& who, const action& a) {
    place_slot& p = who.in.places[a.place];
    const entry in(p.context, who);
    if (!in) return;
    const call_scope now(call_scope::type::plain);
    p.group->lanes->close(lane_key{p.of.key, nullptr});
}

/// In the child, no call may wait for threads that do not exist there.
void fork_process(const actor& who, const action& a) {
    if (is_under_tsan) return; // ThreadSanitizer does not support this
    context_slot& c = who.in.contexts[a.context];
    const entry in(c, who);
    if (!in || !c.pool) return;
    auto slow = [] { std::this_thread::sleep_for(microseconds(500)); };
    ekiden::future<void> f = c.pool->submit(slow);
    ekiden::future<void> g = c.pool->submit(slow);
    const ::pid_t child = ::fork();
    if (child < 0) return;
    if (child == 0) {
        try {
            if (a.number % 3 == 0) f.then(c.pool->get_executor(), [] {}).get();
            if (a.number % 3 == 1) ekiden::when_all(std::move(f), std::move(g)).get();
            if (a.number % 3 == 2) ekiden::when_any(std::move(f), std::move(g)).get();
        } catch (const std::exception&) { // operation_not_permitted
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) fail("the child of a fork has ended badly", nullptr, status);
}

void act_one(const actor& who, const action& a) {
    if (!chosen().is_on(a)) return;
    progress();
    switch (a.what) {
    case kind::post:
    case kind::defer:
    case kind::dispatch:
    case kind::post_last:
    case kind::repost:
    case kind::request:
        return post(who, a);
    case kind::bulk:
        return bulk(who, a);
    case kind::submit:
    case kind::get:
        return submit(who, a);
    case kind::then:
        return then(who, a);
    case kind::group:
        return group(who, a);
    case kind::fork:
    case kind::parallel_loop:
        return fork(who, a);
    case kind::reduce:
        return reduce(who, a);
    case kind::timer:
        return timer(who, a);
    case kind::guard:
        return guard(who, a);
    case kind::block:
        return block(who, a);
    case kind::await_deferred:
    case kind::await_timer:
        return await_other(who, a);
    case kind::locked:
        return locked(who, a);
    case kind::throws:
        throw marked();
    case kind::thread_end:
        return thread_end(who, a);
    case kind::close:
        return close(who, a);
    case kind::lane_idle:
        return lane_idle(who, a);
    case kind::metrics:
        return metrics(who, a);
    case kind::fork_process:
        return fork_process(who, a);
    case kind::pause:
    case kind::stop:
    case kind::end:
    case kind::pool_idle:
        return end_or_state(who, a);
    default:
        return act_on_coroutines(who, a);
    }
}

} // namespace

void act(const actor& who, std::span<const action> body) {
    for (const action& a : body) act_one(who, a);
}

} // namespace seams
