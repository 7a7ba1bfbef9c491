/// Executes actions of coroutines. Each is a suspension, or happens between two suspensions.
#include "world.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <span>

namespace seams {

namespace {

using ekiden::coroutine;
using std::chrono::microseconds;

/// Counts the frames.
struct frame {
    explicit frame(world& w) noexcept : in(w) { in.frames.fetch_add(1, std::memory_order_relaxed); }
    frame(const frame&) = delete;
    frame& operator=(const frame&) = delete;
    ~frame() { in.frames.fetch_sub(1, std::memory_order_relaxed); }
    world& in;
};

/// Takes its arguments by value, because a coroutine may outlive its creator.
coroutine<> perform(actor who, std::span<const action> body);

/// Executes an action without waiting, at the coroutine's current place.
void between(const actor& who, const action& a) {
    const visit now(*who.at, nullptr);
    act(who, std::span(&a, 1));
}

/// The coroutine has reached the place. No other function of the place may run at the same time.
void arrived(const actor& who) {
    progress();
    if (who.at->context.is_destroyed) fail("a coroutine runs after the end of its context");
    const visit now(*who.at, nullptr);
}

coroutine<> take_lock(actor who, const action* a) {
    const frame counted(who.in);
    ekiden::mutex& m = who.home->coroutines_lock;
    const auto guard = co_await ekiden::async_lock(m);
    co_await perform(who, a->body);
}

coroutine<> await_future(actor who, const action* a) {
    const frame counted(who.in);
    place_slot& p = who.in.places[a->place];
    record* const r = who.in.make_record(*a, p, kind::submit);
    if (r == nullptr) co_return;
    r->accepted = 1;
    r->may_be_dropped = true;
    ekiden::future<int> f;
    {
        const entry in(p.context, who);
        if (!in) {
            r->accepted = 0;
            co_return;
        }
        f = p.executor.submit(valued_call{call(*r)});
    }
    try {
        const int value = co_await std::move(f);
        if (value != static_cast<int>(a->index)) fail("an awaited future has a wrong value", r);
    } catch (const marked&) {
    } catch (const std::system_error&) {
    }
}

coroutine<> in_scope(actor who, const action* a) {
    const frame counted(who.in);
    const auto children = [who, a](ekiden::async_scope& scope) -> coroutine<> {
        const frame own(who.in);
        for (const action& child : a->body) {
            if (!chosen().is_on(child)) continue;
            (void)scope.spawn([who, one = std::span(&child, 1)]() -> coroutine<> {
                const frame f(who.in);
                co_await perform(who, one);
            });
        }
        if (a->number % 3 == 0) scope.request_stop();
        co_return;
    };
    co_await ekiden::with_scope(children);
}

/// A scope in the frame. Its owner moves before it waits, and may be refused there.
coroutine<> own_scope(actor who, const action* a) {
    const frame counted(who.in);
    ekiden::async_scope scope(co_await ekiden::get_environment());
    std::exception_ptr error;
    try { // an executor that throws does so in spawn(); the scope is awaited nevertheless
        for (unsigned i = 0; i != 1 + a->number % 2; ++i) {
            const bool is_in = scope.spawn([who, a, i]() -> coroutine<> {
                const frame own(who.in);
                co_await ekiden::sleep_for(microseconds((a->number / 2 + i) % 400));
            });
            (void)is_in;
        }
        co_await perform(who, a->body);
    } catch (...) {
        error = std::current_exception();
    }
    co_await scope.wait();
    if (error) std::rethrow_exception(error);
}

/// Two coroutines wait for one scope. The first one that continues destroys the scope, if both waits have
/// begun by then. A destroyed scope must not be used.
coroutine<> wait_twice(actor who, const action* a) {
    const frame counted(who.in);
    struct shared {
        explicit shared(const ekiden::environment& env) : scope(new ekiden::async_scope(env)) {}
        ~shared() { delete scope.load(); }
        std::atomic<ekiden::async_scope*> scope;
    };
    const auto s = std::make_shared<shared>(co_await ekiden::get_environment());
    const auto have_begun = std::make_shared<ekiden::event>(); // set when both waits have begun
    ekiden::async_scope* const inner = s->scope;
    (void)inner->spawn([who, a, have_begun]() -> coroutine<> {
        const frame own(who.in);
        co_await ekiden::async_wait(*have_begun);
        co_await ekiden::sleep_for(microseconds(a->number % 200));
    });
    const auto waiter = [who, s, inner, have_begun]() -> coroutine<> {
        const frame own(who.in);
        co_await inner->wait();
        if (have_begun->is_set()) delete s->scope.exchange(nullptr);
    };
    const auto opener = [have_begun]() -> coroutine<> { // started last
        have_begun->set();
        co_return;
    };
    co_await ekiden::when_all(waiter(), waiter(), opener());
}

coroutine<> limited(actor who, const action* a) {
    const frame counted(who.in);
    try {
        auto body = [who, a]() -> coroutine<> { return perform(who, a->body); };
        co_await ekiden::with_timeout(microseconds(a->number % 300), std::move(body));
    } catch (const std::exception&) { // timed_out, operation_canceled
    }
}

coroutine<> first_of(actor who, const action* a) {
    const frame counted(who.in);
    std::vector<std::function<coroutine<>()>> all;
    for (const action& child : a->body) {
        if (!chosen().is_on(child)) continue;
        all.emplace_back([who, one = std::span(&child, 1)]() -> coroutine<> { co_await perform(who, one); });
    }
    all.emplace_back([who, a]() -> coroutine<> {
        const frame own(who.in);
        co_await ekiden::sleep_for(microseconds(a->number % 300));
    });
    try {
        co_await ekiden::when_any(std::move(all));
    } catch (const std::system_error&) {
    }
}

coroutine<> all_of_view(actor who) {
    const frame counted(who.in);
    std::vector<std::function<coroutine<>()>> all(2, [who]() -> coroutine<> {
        const frame own(who.in);
        co_await ekiden::yield();
    });
    co_await ekiden::when_all(std::span(all));
    for (const auto& f : all)
        if (!f) fail("when_all() of a view has moved from a container that the view does not own");
}

coroutine<> perform(actor who, std::span<const action> body) {
    const frame counted(who.in);
    // Keeps the loop running until the coroutine has left, because it is no work of the loop.
    std::unique_ptr<entry> guest_of_loop;
    arrived(who);
    for (const action& a : body) {
        if (!chosen().is_on(a)) continue;
        progress();
        switch (a.what) {
        case kind::co_yield_:
            co_await ekiden::yield();
            break;
        case kind::co_sleep:
            co_await ekiden::sleep_for(microseconds(a.number % 400));
            break;
        case kind::co_hop: {
            place_slot& to = who.in.places[a.place];
            const bool moves = who.at == nullptr || &who.at->context != &to.context;
            auto coming = moves ? std::make_unique<entry>(to.context, who) : nullptr;
            if ((coming && !*coming) || !to.executor) break;
            const ekiden::any_executor where = to.executor;
            co_await ekiden::resume_on(where);
            who.at = &to;
            const bool is_guest = to.context.pool == nullptr && &to.context != who.home;
            if (moves) guest_of_loop = is_guest ? std::move(coming) : nullptr;
            break;
        }
        case kind::co_lock:
            co_await take_lock(who, &a);
            break;
        case kind::co_future:
            co_await await_future(who, &a);
            break;
        case kind::co_scope:
            co_await in_scope(who, &a);
            break;
        case kind::co_owner:
            co_await own_scope(who, &a);
            break;
        case kind::co_waiters:
            co_await wait_twice(who, &a);
            break;
        case kind::co_timeout:
            co_await limited(who, &a);
            break;
        case kind::co_any:
            co_await first_of(who, &a);
            break;
        case kind::co_view:
            co_await all_of_view(who);
            break;
        default:
            between(who, a);
            continue;
        }
        arrived(who);
    }
}

/// The root itself moves, and ends at another place.
void spawn_elsewhere(place_slot& home, const action& a) {
    const auto& to = home.in.places[a.number / 5 % home.in.places.size()];
    const context_plan& c = to.context.of;
    // A pool that has ended refuses the root, but a loop would keep it.
    if (to.is_serial() || to.context.pool == nullptr || !c.is_graceful || c.ends_early) return;
    const entry in(to.context, {home.in});
    if (!in) return;
    ekiden::co_spawn(home.executor, [where = to.executor] { return ekiden::resume_on(where); });
}

coroutine<> catches(actor who, std::span<const action> body) {
    const frame counted(who.in);
    try {
        co_await perform(who, body);
    } catch (const marked&) {
    } catch (const std::exception&) {
    }
}

} // namespace

void act_on_coroutines(const actor& who, const action& a) {
    place_slot& p = who.in.places[a.place];
    const entry in(p.context, who);
    if (!in || !p.executor) return;
    const actor root{who.in, &p, -1, &p.context};
    try {
        if (a.what == kind::sync_wait) {
            const call_scope now(who.at != nullptr ? call_scope::type::helps : call_scope::type::plain);
            ekiden::sync_wait(p.executor, [root, &a] { return catches(root, a.body); });
            return;
        }
        const call_scope now(call_scope::type::plain);
        ekiden::spawn_options options;
        if (a.number % 2 == 0) options.stop(who.in.stop.get_token());
        if (a.number % 5 == 4 && p.context.of.is_graceful && chosen().is_on(trait::cross_home)) {
            spawn_elsewhere(p, a);
            return;
        }
        if (a.number % 3 == 0) {
            ekiden::co_spawn(p.executor, [root, &a] { return catches(root, a.body); });
            return;
        }
        ekiden::future<int> f = ekiden::co_spawn(
            p.executor,
            [root, &a]() -> coroutine<int> {
                const frame own(root.in);
                co_await perform(root, a.body);
                co_return 0;
            },
            ekiden::use_future, options);
        const std::lock_guard guard(who.in.lock);
        who.in.futures.push_back({std::move(f), nullptr, nullptr});
    } catch (const executor_failed&) {
    } catch (const std::system_error&) { // from sync_wait: the context was stopped
    }
}

} // namespace seams
