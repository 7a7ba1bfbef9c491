#include "account.hpp"

#include "world.hpp"

#include <cstdio>
#include <unistd.h>

namespace seams {

namespace {

struct thread_state {
    call_scope* call = nullptr;
    visit* top = nullptr;
};
thread_local thread_state here;

/// Returns whether functions at the record's place must begin in the order of their posts.
bool is_in_order(const record& r) {
    const bool is_ordered = r.how == kind::post || r.how == kind::defer || r.how == kind::request;
    return r.place->is_serial() && is_ordered && !r.is_at_thread_end;
}

/// Does the same for plain posts. This is a separate check, because it is a separate promise.
bool is_in_plain_order(const record& r) {
    if (!chosen().is_on(trait::plain_order) || r.place->is_serial() || r.how != kind::post) return false;
    const context_plan& c = r.place->context.of;
    if (r.driver < 0 || c.is_paused || c.threads != 1) return false;
    return c.max_threads <= 1 && (c.what != context_plan::type::pool || r.of->number % 4 != 3);
}

void check_order(record& r, std::atomic<std::uint64_t>& newest) {
    const std::uint64_t after = r.after.load(std::memory_order_relaxed);
    const std::uint64_t before = r.before.load(std::memory_order_relaxed);
    const std::uint64_t latest = newest.load(std::memory_order_relaxed);
    if (after != 0 && after < latest)
        fail(r.place->is_serial() ? "the order of a strand or lane is wrong"
                                  : "the order of plain posts is wrong",
             &r);
    if (before > latest) newest.store(before, std::memory_order_relaxed);
}

/// Checks the order in all lanes of a function. Readers next to each other may begin in any order.
void check_lanes(record& r) {
    for (const key_use& k : keys_of(r)) {
        if (k.place == nullptr) continue;
        std::atomic<std::uint64_t>& shared = k.place->newest_shared;
        if (!k.is_shared) {
            check_order(r, shared);
            check_order(r, k.place->newest);
            continue;
        }
        const std::uint64_t before = r.before.load(std::memory_order_relaxed);
        const std::uint64_t after = r.after.load(std::memory_order_relaxed);
        if (after != 0 && after < k.place->newest.load(std::memory_order_relaxed))
            fail("a request that reads has begun after a later one that writes", &r);
        std::uint64_t latest = shared.load(std::memory_order_relaxed);
        while (latest < before && !shared.compare_exchange_weak(latest, before, std::memory_order_relaxed)) {
        }
    }
}

void check_begin(record& r) {
    place_slot& place = *r.place;
    context_slot& context = place.context;
    if (context.is_destroyed) fail("a function runs after the end of its context", &r);
    if (r.must_not_run) fail("a function runs although cancel() has counted it", &r);
    if (r.how == kind::dispatch || r.how == kind::timer || r.how == kind::then) return;
    const std::uint64_t before = r.before.load(std::memory_order_relaxed);
    const std::uint64_t stopped = context.stopped.load(std::memory_order_relaxed);
    if (stopped != 0 && r.how != kind::bulk) context.begun_after_stop.fetch_add(1, std::memory_order_relaxed);
    // A thread that cannot return the lanes that it runs continues with them.
    const bool may_go_on = place.group != nullptr && place.group->of.fails_each != 0;
    const std::uint64_t paused = context.paused.load(std::memory_order_relaxed);
    if (!may_go_on && paused != 0 && before > paused && !is_helping() && chosen().is_on(trait::pause_check)
        && r.how != kind::repost && context.paused.load(std::memory_order_relaxed) == paused
        && context.stop_begun == 0) // otherwise, pause() has had no effect
        fail("a function that was posted after pause() begins before resume()", &r);
    if (is_in_order(r)) check_lanes(r);
    if (is_in_plain_order(r)) check_order(r, place.newest_of_driver[static_cast<unsigned>(r.driver)]);
}

/// Returns whether the program has given a reason why an accepted callable may not run.
bool may_be_dropped(const record& r) {
    const context_slot& c = r.place->context;
    if (r.may_be_dropped || c.stop_begun.load() != 0) return true;
    if (r.how == kind::then) return true; // a failure skips it; its future is checked instead
    const bool is_late = r.after.load() > c.end_begun.load() && !r.is_guarded;
    if (r.is_at_thread_end) return is_late;
    return c.of.what != context_plan::type::pool && !r.from_inside && is_late;
}

void check_record(const record& r) {
    const int runs = r.runs;
    const int accepted = r.accepted;
    if (r.copies != 0) fail("a callable is left", &r, r.copies);
    if (runs > accepted) fail("a function has run more often than it was accepted", &r, runs - accepted);
    if (runs == accepted || may_be_dropped(r)) return;
    if (r.place->group == nullptr) fail("an accepted function was neither run nor told", &r, accepted - runs);
}

/// Tasks that lanes accept but do not run are counted as dropped. Tasks that they refuse are counted as
/// rejected. If the post of a timer throws, there is no caller, so the context of the inner executor gets the
/// exception.
void check_group(world& in, const group_slot& g) {
    if (g.context.stop_begun.load() != 0) return;
    std::uint64_t lost = 0;
    std::uint64_t lost_by_timers = 0;
    const record* one = nullptr;
    for (unsigned i = 0; i != in.records_used; ++i) {
        const record& r = in.records[i];
        if (r.place->group != &g) continue;
        lost += static_cast<unsigned>(r.refused.load());
        if (may_be_dropped(r) || r.runs == r.accepted) continue;
        const bool is_one_task = r.how == kind::bulk && r.runs == 0;
        std::uint64_t& sum = r.how == kind::timer ? lost_by_timers : lost;
        sum += is_one_task ? 1 : static_cast<unsigned>(r.accepted - r.runs);
        one = &r;
    }
    const std::uint64_t counted = g.last.dropped + g.last.rejected;
    const auto told = static_cast<unsigned>(g.context.told.load());
    if (lost > counted || lost + lost_by_timers > counted + told)
        fail("functions that lanes had accepted were dropped, or refused, and nothing tells", one,
             static_cast<long long>(lost * 1'000'000'000 + lost_by_timers * 1'000'000 + counted * 1'000
                                    + told));
}

} // namespace

shared_page*& page_pointer() noexcept {
    static shared_page* page = nullptr;
    return page;
}
shared_page& page() noexcept { return *page_pointer(); }

void fail(const char* what, const record* of, long long number) {
    if (!page().has_failed.exchange(true)) {
        char* const to = page().message.data();
        int length = std::snprintf(to, page().message.size(), "%s", what);
        if (of != nullptr)
            length += std::snprintf(to + length, page().message.size() - static_cast<unsigned>(length),
                                    ": action %u (%.*s), accepted %d, refused %d, run %d, %d callables",
                                    of->of->index, static_cast<int>(name_of(of->how).size()),
                                    name_of(of->how).data(), of->accepted.load(), of->refused.load(),
                                    of->runs.load(), of->copies.load());
        if (number != 0)
            std::snprintf(to + length, page().message.size() - static_cast<unsigned>(length), " (%lld)",
                          number);
    }
    ::_exit(3);
}

call_scope::call_scope(type what, const record* running) noexcept : is(what), own(running), outer(here.call) {
    here.call = this;
}
call_scope::~call_scope() { here.call = outer; }

visit::visit(place_slot& where, const record* runs, bool shares)
    : place(where), outer_call(here.call), below(here.top), is_shared(shares) {
    const bool asked_for = outer_call != nullptr && outer_call->is != call_scope::type::plain
                           && outer_call->own == runs && runs != nullptr;
    if (outer_call != nullptr && !asked_for && outer_call->is != call_scope::type::helps
        && chosen().is_on(trait::call_check))
        fail("a function runs inside of a call that did not ask for it", runs,
             outer_call->own != nullptr ? static_cast<int>(outer_call->own->of->index) : -1);
    if (is_shared) {
        place.readers.fetch_add(1, std::memory_order_relaxed);
        if (place.inside.load(std::memory_order_relaxed) != nullptr)
            fail("a request reads a key while another function has the key", runs);
    } else if (place.is_serial()) {
        const void* const before = place.inside.exchange(&here, std::memory_order_relaxed);
        if (before != nullptr && !(before == &here && asked_for))
            fail("two functions of one strand or lane run at the same time", runs, before == &here ? 1 : 2);
        is_nested = before != nullptr;
        if (place.readers.load(std::memory_order_relaxed) != 0)
            fail("a function has a key while a request reads the key", runs);
    }
    here.top = this;
    here.call = nullptr;
}
visit::~visit() {
    if (is_shared)
        place.readers.fetch_sub(1, std::memory_order_relaxed);
    else if (place.is_serial() && !is_nested)
        place.inside.store(nullptr, std::memory_order_relaxed);
    here.top = below;
    here.call = outer_call;
}

visit* top_visit() noexcept { return here.top; }
bool is_inside(const place_slot& place) noexcept {
    for (const visit* v = here.top; v != nullptr; v = v->below)
        if (&v->place == &place) return true;
    return false;
}
bool is_helping() noexcept {
    for (const visit* v = here.top; v != nullptr; v = v->below)
        if (v->outer_call != nullptr) return true;
    return here.call != nullptr;
}

void post_from_destructor(world& in, const action& of, place_slot& where) {
    place_slot* to = &where;
    if (to->is_blocking())
        for (place_slot& p : in.places)
            if (&p.context == &where.context && !p.is_serial()) to = &p;
    record* const r = in.make_record(of, *to, kind::post);
    if (r == nullptr) return;
    r->is_callback = true;
    // The context exists: it destroys this callable or key, or the caller of a post is inside it.
    r->from_inside = true;
    deliver({in, to}, *r);
}

call::~call() {
    if (of_ == nullptr || of_->copies.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (!of_->of->calls_back || of_->is_callback) return;
    switch (of_->how) {
    case kind::post:
    case kind::defer:
    case kind::dispatch:
    case kind::bulk:
    case kind::request:
        break;
    default:
        return;
    }
    post_from_destructor(*of_->in, *of_->of, *of_->place);
}

void call::operator()() const {
    record& r = *of_;
    progress();
    // Counts the run before the body, so that a second run is always found.
    const int run = r.runs.fetch_add(1, std::memory_order_relaxed);
    const std::vector<key_use> keys = keys_of(r);
    const visit now(*r.place, &r, keys.front().is_shared);
    std::optional<visit> other; // of a second key with a place
    for (const key_use& k : keys)
        if (k.place != nullptr && k.place != r.place) other.emplace(*k.place, &r, k.is_shared);
    if (run == 0) check_begin(r);
    if (r.is_callback) return;
    const bool is_counted = r.how != kind::group && r.how != kind::submit && r.how != kind::then;
    try {
        if (run == 0) act({*r.in, r.place}, r.of->body);
        if (r.how == kind::repost && r.left.fetch_sub(1, std::memory_order_relaxed) > 0)
            deliver({*r.in, r.place}, r);
        if (run == 0 && r.of->throws) throw marked();
    } catch (const marked&) {
        if (is_counted) r.place->context.thrown.fetch_add(1, std::memory_order_relaxed);
        throw;
    }
}

void check_accounts(world& in) {
    for (unsigned i = 0; i != in.records_used; ++i) check_record(in.records[i]);
    for (const group_slot& g : in.groups) check_group(in, g);
    if (in.frames != 0) fail("frames of coroutines are left", nullptr, in.frames);
    if (in.keys != 0) fail("copies of keys are left", nullptr, in.keys);
    for (const context_slot& c : in.contexts) {
        // After a loop has stopped, run() throws no further exceptions.
        const bool may_keep = c.stop_begun != 0 && c.of.what != context_plan::type::pool;
        if (!may_keep && c.thrown != c.handled)
            fail("exceptions were thrown, and not all of them handled", nullptr, c.thrown - c.handled);
        const int most = static_cast<int>(std::max(c.of.threads, c.of.max_threads));
        if (c.begun_after_stop > most && chosen().is_on(trait::stop_check))
            fail("functions begin after stop() has returned", nullptr, c.begun_after_stop);
    }
}

} // namespace seams
