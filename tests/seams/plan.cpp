#include "plan.hpp"

#include "random.hpp"

#include <algorithm>

namespace seams {

namespace {

struct kind_row {
    std::string_view name;
    unsigned weight;
    bool has_body;
};
constexpr std::array<kind_row, kinds> rows{{
    {"post", 16, true},      {"defer", 12, true},     {"dispatch", 12, true},      {"post_last", 3, true},
    {"repost", 5, true},     {"bulk", 4, true},       {"submit", 6, true},         {"get", 8, true},
    {"then", 10, true},      {"group", 4, true},      {"fork", 5, true},           {"parallel_loop", 2, true},
    {"reduce", 1, false},    {"timer", 9, true},      {"guard", 4, true},          {"spawn", 12, true},
    {"sync_wait", 3, true},  {"block", 9, true},      {"await_deferred", 3, true}, {"await_timer", 2, true},
    {"locked", 5, true},     {"throws", 3, false},    {"thread_end", 3, true},     {"close", 7, false},
    {"lane_idle", 4, false}, {"pool_idle", 2, false}, {"metrics", 2, false},       {"pause", 3, false},
    {"stop", 4, false},      {"end", 4, false},       {"fork_process", 1, false},  {"request", 14, true},
    {"co_yield", 12, false}, {"co_sleep", 12, false}, {"co_hop", 14, false},       {"co_lock", 6, true},
    {"co_future", 6, true},  {"co_scope", 6, true},   {"co_owner", 8, true},       {"co_waiters", 5, true},
    {"co_timeout", 5, true}, {"co_any", 5, true},     {"co_view", 2, false},
}};
constexpr std::array<std::string_view, traits> trait_names{
    "surplus",      "callback",        "key_callback", "flaky",         "capacity",
    "block_policy", "abrupt",          "plain_order",  "stop_check",    "pause_check",
    "call_check",   "cross_home",      "refusing_hop", "then_outlives", "full_timer",
    "lane_bulk",    "strand_dispatch", "stopped_wait", "special",       "simulated"};

bool is_coroutine_only(kind k) { return k >= kind::co_yield_; }

/// Returns whether the action needs no other thread and does not block its thread.
bool is_simulable(kind k, bool in_coroutine) {
    switch (k) {
    case kind::post:
    case kind::defer:
    case kind::dispatch:
    case kind::post_last:
    case kind::repost:
    case kind::bulk:
    case kind::submit:
    case kind::then:
    case kind::timer:
    case kind::spawn:
    case kind::close:
    case kind::stop:
    case kind::request:
        return true;
    case kind::throws: // an exception of a handler ends the simulation
        return in_coroutine;
    default:
        return is_coroutine_only(k);
    }
}

/// The position of an action, as far as the model of legal programs needs it.
struct site {
    int place = -1; ///< -1 for a driver
    unsigned driver = 0;
    bool is_top = true;   ///< not inside a callable
    bool in_lock = false; ///< the thread holds a mutex of the test
    bool in_fork = false; ///< inside a call of fork-join, so it must not wait
    bool in_coroutine = false;
    bool may_not_wait = false; ///< inside a lane whose posts wait for room
    bool is_repeated = false;
    bool is_awaited = false;  ///< a function of a strand or lane waits for it
    bool has_co_lock = false; ///< the coroutine, or a coroutine that waits for it, holds the mutex
    bool is_away = false;     ///< a coroutine on a pool that may stop and is not its home
    /// A coroutine on a loop that is not its home. It is work of its home only, so it does not keep that loop
    /// running, and run() returns when the loop has nothing left (docs/executors.md). So it must not wait
    /// there, neither for a sleep nor for something that completes elsewhere.
    bool is_guest = false;
    /// A bit for each loop whose thread may be blocked until this action ends. It must not wait for these.
    std::uint32_t blocked_loops = 0;
    unsigned home = 0; ///< the context of the coroutine's root
    unsigned depth = 0;
};

class maker {
public:
    maker(std::uint64_t seed, unsigned most) : random_(seed * 0x2545f4914f6cdd1dU + 77) {
        made_.seed = seed;
        made_.is_simulated = seed % 8 == 5 && chosen().is_on(trait::simulated);
        budget_ = most <= 3 ? most : 3 + random_.below(most - 2);
    }

    plan make() {
        make_contexts();
        make_places();
        made_.drivers.resize(random_.chance(60) ? 1 : 2);
        made_.end_order = random_.next();
        for (unsigned attempts = 0; budget_ != 0 && attempts != 40; ++attempts) {
            site top;
            top.driver = random_.below(static_cast<unsigned>(made_.drivers.size()));
            add(made_.drivers[top.driver], top);
        }
        for (unsigned i = 0; i != made_.contexts.size(); ++i) // an end with outstanding work is a seam
            if (made_.contexts[i].ends_early && !ended_.contains(i) && random_.chance(70)) {
                action a{kind::end};
                a.context = i;
                made_.drivers[0].push_back(a);
            }
        for (auto& d : made_.drivers) number(d);
        return std::move(made_);
    }

private:
    void make_contexts() {
        const unsigned count = random_.chance(52) ? 1 : random_.chance(85) ? 2 : 3;
        for (unsigned i = 0; i != count; ++i) made_.contexts.push_back(some_context());
        for (const context_plan& c : made_.contexts) made_.is_graceful = made_.is_graceful && c.is_graceful;
    }

    context_plan some_context() {
        using type = context_plan::type;
        context_plan c;
        const unsigned which = random_.below(100);
        c.what = which < 62 ? type::pool : which < 84 ? type::loop : type::loop_pool;
        c.threads = random_.chance(45) ? 1 : 2 + random_.below(2);
        const bool surplus = random_.chance(45);
        const unsigned more = 1 + random_.below(2);
        constexpr std::array<int, 5> times{0, 0, 0, 1, 10'000};
        const int time = times[random_.below(5)];
        if (surplus && chosen().is_on(trait::surplus) && c.what == type::pool) {
            c.max_threads = c.threads + more;
            c.keep_alive_ms = time;
            c.watch_ms = random_.chance(30) ? 1 : 0;
        }
        c.hint = random_.chance(50) ? 1 : ekiden::loop_context::many;
        if (c.what == type::loop && c.hint == 1) c.threads = 1;
        c.spin_us = random_.chance(10) ? 50 : 0;
        const bool is_abrupt = random_.chance(40);
        c.is_graceful = !(is_abrupt && chosen().is_on(trait::abrupt));
        c.ends_early = random_.chance(30);
        c.is_paused = c.what == type::pool && random_.chance(15) && chosen().is_on(kind::pause);
        c.joins_first = random_.chance(50);
        if (made_.is_simulated) {
            c.what = type::simulated;
            c.max_threads = 0;
            c.ends_early = c.is_paused = false;
        }
        return c;
    }

    void make_places() {
        for (unsigned i = 0; i != made_.contexts.size(); ++i) {
            const context_plan& c = made_.contexts[i];
            const unsigned plain = c.what == context_plan::type::loop_pool ? c.threads : 1;
            for (unsigned k = 0; k != plain; ++k) made_.places.push_back({place_plan::type::plain, i, k, 0});
            for (unsigned k = random_.below(2) + (random_.chance(20) ? 1 : 0); k != 0; --k)
                made_.places.push_back({place_plan::type::strand, i, random_.below(plain), 0});
            if (random_.chance(60)) make_lanes(i);
        }
    }

    void make_lanes(unsigned context) {
        lanes_plan g;
        g.context = context;
        g.shards = random_.chance(70) ? 1 : 2;
        const bool is_bounded = random_.chance(60);
        const unsigned lane_capacity = 1 + random_.below(3);
        const unsigned capacity = 1 + random_.below(4);
        const unsigned which = random_.below(3);
        const unsigned policy = random_.below(4);
        if (is_bounded && chosen().is_on(trait::capacity)) {
            if (which != 0) g.lane_capacity = lane_capacity;
            if (which != 1) g.capacity = capacity;
            g.policy = static_cast<ekiden::when_full>(policy);
            const context_plan& c = made_.contexts[context];
            const bool may_block =
                !made_.is_simulated && (c.what == context_plan::type::pool || c.is_graceful);
            if (g.policy == ekiden::when_full::block && (!may_block || !chosen().is_on(trait::block_policy)))
                g.policy = ekiden::when_full::drop_oldest;
        }
        const bool fails = random_.chance(25);
        const unsigned each = 2 + random_.below(3);
        if (fails && chosen().is_on(trait::flaky) && !made_.is_simulated
            && g.policy != ekiden::when_full::block)
            g.fails_each = each;
        const bool keys = random_.chance(25);
        g.keys_call_back = keys && chosen().is_on(trait::key_callback);
        const auto number = static_cast<unsigned>(made_.groups.size());
        made_.groups.push_back(g);
        for (int key = 0, count = random_.chance(60) ? 1 : 2; key != count; ++key)
            made_.places.push_back({place_plan::type::lane, context, number, key});
    }

    [[nodiscard]] const context_plan& context_of(unsigned place) const {
        return made_.contexts[made_.places[place].context];
    }
    [[nodiscard]] bool is_pool(unsigned context) const {
        return made_.contexts[context].what == context_plan::type::pool;
    }
    /// Returns whether futures report the tasks that the context refuses, or drops when it stops.
    [[nodiscard]] bool tells_by_future(unsigned context) const {
        return made_.is_simulated || is_pool(context);
    }
    [[nodiscard]] unsigned context_at(const site& s) const {
        return made_.places[static_cast<unsigned>(s.place)].context;
    }
    [[nodiscard]] bool is_same(const site& s, unsigned context) const {
        return s.place >= 0 && context_at(s) == context;
    }
    [[nodiscard]] unsigned first_plain(unsigned context) const {
        unsigned place = 0;
        while (made_.places[place].context != context) ++place;
        return place;
    }
    /// Returns the first place from `place` on that is a lane, or `place` if there is no lane.
    [[nodiscard]] unsigned some_lane(unsigned place) const {
        const auto count = static_cast<unsigned>(made_.places.size());
        for (unsigned i = 0; i != count; ++i)
            if (made_.places[(place + i) % count].what == place_plan::type::lane) return (place + i) % count;
        return place;
    }
    [[nodiscard]] bool is_plain(unsigned place) const {
        return made_.places[place].what == place_plan::type::plain;
    }
    [[nodiscard]] bool is_blocking(unsigned place) const {
        const place_plan& p = made_.places[place];
        return p.what == place_plan::type::lane && made_.groups[p.number].policy == ekiden::when_full::block;
    }
    [[nodiscard]] bool may_refuse(unsigned place) const {
        const place_plan& p = made_.places[place];
        return p.what == place_plan::type::lane
               && (made_.groups[p.number].lane_capacity + made_.groups[p.number].capacity != 0
                   || made_.groups[p.number].fails_each != 0);
    }
    [[nodiscard]] bool is_same_group(int here, unsigned place) const {
        return here >= 0 && made_.places[static_cast<unsigned>(here)].what == place_plan::type::lane
               && made_.places[static_cast<unsigned>(here)].number == made_.places[place].number;
    }

    /// Returns whether a post to `place` is legal here. The post may wait if the place is a full lane.
    [[nodiscard]] bool may_post(const site& s, unsigned place) const {
        if (!is_blocking(place)) return true;
        if (s.in_coroutine) return false;
        if (is_same_group(s.place, place) && !s.in_fork) return true;
        if (s.in_lock || s.in_fork || s.may_not_wait) return false;
        const unsigned context = made_.places[place].context;
        return s.place < 0 || (is_same(s, context) && is_pool(context));
    }

    [[nodiscard]] bool may_wait(const site& s) const {
        return !s.in_lock && !s.in_fork && !s.may_not_wait && !s.in_coroutine;
    }
    /// Returns whether a thread may wait here for a task that it has posted to the plain place of a pool.
    [[nodiscard]] bool may_wait_for_pool(const site& s, unsigned context) const {
        if (!may_wait(s) || !is_pool(context)) return false;
        if (s.place < 0 || is_same(s, context)) return true;
        return !is_pool(context_at(s)) && !made_.contexts[context].is_paused
               && made_.contexts[context].is_graceful;
    }
    [[nodiscard]] bool has_spare_thread(unsigned context) const {
        const context_plan& c = made_.contexts[context];
        return c.max_threads > c.threads && !c.is_paused;
    }
    [[nodiscard]] bool may_hop(const site& s, unsigned place) const {
        const unsigned to = made_.places[place].context;
        if (is_blocking(place) || (s.blocked_loops >> to & 1) != 0) return false;
        if (may_refuse(place) && !chosen().is_on(trait::refusing_hop)) return false;
        if (to == s.home) return true;
        const context_plan& c = made_.contexts[to];
        if (!chosen().is_on(trait::cross_home) || c.ends_early) return false;
        if (!made_.contexts[s.home].is_graceful || made_.contexts[s.home].ends_early) return false;
        return c.is_graceful || (c.what == context_plan::type::pool && chosen().is_on(trait::refusing_hop));
    }

    /// The model of legal programs: returns whether `a` is legal at `s`.
    bool is_legal(const action& a, const site& s);
    bool is_legal_wait(const action& a, const site& s);
    bool is_legal_end(const action& a, const site& s);
    bool is_legal_await(const action& a, const site& s);

    void add(std::vector<action>& to, site& s);
    [[nodiscard]] site inside(const action& a, const site& s) const;
    void number(std::vector<action>& all) {
        for (action& a : all) {
            a.index = made_.actions++;
            number(a.body);
        }
    }

    generator random_;
    plan made_;
    unsigned budget_;
    unsigned last_place_ = 0;
    bool has_task_wait_ = false;
    bool has_request_ = false;
    bool has_await_ = false;
    bool has_fork_ = false;
    std::set<unsigned> ended_;
};

bool maker::is_legal_wait(const action& a, const site& s) {
    const place_plan& to = made_.places[a.place];
    switch (a.what) {
    case kind::get:
        if (s.place < 0)
            return may_wait(s) && may_post(s, a.place)
                   && (is_pool(to.context) || made_.contexts[to.context].is_graceful);
        return is_plain(a.place) && may_wait_for_pool(s, to.context);
    case kind::sync_wait:
        if (!chosen().is_on(trait::stopped_wait) && !made_.contexts[to.context].is_graceful) return false;
        return is_plain(a.place) && is_pool(to.context) && may_wait(s) && !s.is_awaited
               && (s.place < 0 || (is_same(s, to.context) && is_plain(static_cast<unsigned>(s.place))));
    case kind::group:
        return may_wait_for_pool(s, a.context);
    case kind::await_deferred:
    case kind::await_timer:
        return !has_await_ && !s.is_repeated && s.place >= 0 && is_same(s, a.context) && may_wait(s)
               && is_pool(a.context) && has_spare_thread(a.context) && is_plain(a.place)
               && to.context == a.context;
    case kind::lane_idle:
        if (to.what != place_plan::type::lane) return false;
        if (s.place < 0)
            return may_wait(s) && (is_pool(to.context) || made_.contexts[to.context].is_graceful);
        if (s.is_awaited && std::max(context_of(a.place).threads, context_of(a.place).max_threads) > 1)
            return false;
        // While a function of a lane waits, its thread may run a task that waits for another lane. A request
        // may have both lanes.
        return !has_task_wait_ && !has_request_ && !s.is_repeated && may_wait(s) && is_same(s, to.context)
               && is_pool(to.context) && is_plain(static_cast<unsigned>(s.place));
    case kind::pool_idle:
        return s.place < 0 && is_pool(a.context) && may_wait(s);
    default:
        return false;
    }
}

bool maker::is_legal_end(const action& a, const site& s) {
    const context_plan& c = made_.contexts[a.context];
    switch (a.what) {
    case kind::pause:
        return c.is_paused;
    case kind::stop:
        return !c.is_graceful;
    case kind::end:
        return s.is_top && s.driver == 0 && c.ends_early && !ended_.contains(a.context);
    default:
        return s.is_top && !has_fork_; // fork_process
    }
}

bool maker::is_legal_await(const action& a, const site& s) {
    if (!s.in_coroutine) return false;
    const context_plan& home = made_.contexts[s.home];
    switch (a.what) {
    case kind::co_hop:
        return may_hop(s, a.place);
    case kind::co_yield_:
        return true;
    case kind::co_lock:
        return !s.is_away && !s.is_guest && !s.has_co_lock;
    case kind::co_future: {
        const unsigned context = made_.places[a.place].context;
        if (s.is_away || s.is_guest || !is_plain(a.place) || !tells_by_future(context)) return false;
        if ((s.blocked_loops >> context & 1) != 0) return false;
        return context == s.home || (home.is_graceful && !home.ends_early);
    }
    default:
        return !s.is_away && !s.is_guest;
    }
}

bool maker::is_legal(const action& a, const site& s) {
    if (made_.is_simulated && !is_simulable(a.what, s.in_coroutine)) return false;
    if (is_coroutine_only(a.what)) return is_legal_await(a, s);
    const place_plan& to = made_.places[a.place];
    switch (a.what) {
    case kind::get:
    case kind::sync_wait:
    case kind::group:
    case kind::await_deferred:
    case kind::await_timer:
    case kind::lane_idle:
    case kind::pool_idle:
        return is_legal_wait(a, s);
    case kind::pause:
    case kind::stop:
    case kind::end:
    case kind::fork_process:
        return is_legal_end(a, s);
    case kind::fork:
    case kind::parallel_loop:
    case kind::reduce: // a guest's calls may run in a pool that is paused, so they must not wait
        return is_pool(a.context) && !s.in_lock && !s.in_coroutine && (s.place < 0 || is_same(s, a.context));
    case kind::then: {
        const context_plan& c = made_.contexts[to.context];
        if (!tells_by_future(a.context) || is_blocking(a.place)) return false;
        if (!chosen().is_on(trait::then_outlives) && !c.is_graceful) return false;
        return is_pool(to.context) || !c.ends_early;
    }
    case kind::timer:
        if (is_blocking(a.place) && !chosen().is_on(trait::full_timer)) return false;
        if (a.context == to.context) return true;
        return made_.is_graceful && !made_.contexts[a.context].ends_early
               && !made_.contexts[to.context].ends_early;
    case kind::guard:
        return s.is_top && made_.contexts[to.context].is_graceful && !is_blocking(a.place);
    case kind::spawn:
        return !is_blocking(a.place) && (!may_refuse(a.place) || chosen().is_on(trait::refusing_hop));
    case kind::block:
        return !s.in_lock && !s.in_fork && s.place >= 0 && !s.in_coroutine;
    case kind::locked:
        return !s.in_lock && !s.in_coroutine;
    case kind::throws:
        return s.place >= 0;
    case kind::thread_end:
        return s.place >= 0;
    case kind::close:
        return to.what == place_plan::type::lane;
    case kind::request:
        return to.what == place_plan::type::lane && !has_task_wait_ && may_post(s, a.place);
    case kind::metrics:
        return true;
    case kind::post_last:
        return is_plain(a.place);
    case kind::dispatch:
        return may_post(s, a.place)
               && (to.what != place_plan::type::strand || chosen().is_on(trait::strand_dispatch));
    case kind::bulk:
        return may_post(s, a.place) && (!may_refuse(a.place) || chosen().is_on(trait::lane_bulk));
    default:
        return may_post(s, a.place);
    }
}

site maker::inside(const action& a, const site& s) const {
    site in = s;
    ++in.depth;
    in.is_top = false;
    if (is_coroutine_only(a.what)) {
        if (a.what == kind::co_future) {
            in = site{static_cast<int>(a.place)};
            in.is_top = false;
        }
        in.depth = s.depth + 1;
        in.has_co_lock = in.in_coroutine && (s.has_co_lock || a.what == kind::co_lock);
        return in;
    }
    switch (a.what) {
    case kind::fork:
    case kind::parallel_loop:
        in.in_fork = true;
        return in;
    case kind::locked:
        in.in_lock = true;
        return in;
    case kind::block:
    case kind::await_deferred:
        return in;
    default:
        break;
    }
    in.place = static_cast<int>(a.what == kind::group ? first_plain(a.context) : a.place);
    // dispatch() may run the function in the calling thread. Then the caller holds its locks meanwhile.
    if (a.what == kind::dispatch)
        in.in_lock = s.in_lock || s.has_co_lock;
    else
        in.in_lock = in.in_fork = in.may_not_wait = false;
    const bool waits =
        a.what == kind::get || a.what == kind::group || a.what == kind::sync_wait || a.what == kind::dispatch;
    const bool is_serial = s.place >= 0 && !is_plain(static_cast<unsigned>(s.place));
    in.is_awaited = waits && (s.is_awaited || is_serial);
    if (!waits) in.blocked_loops = 0;
    if (waits && s.place >= 0 && !is_pool(context_at(s))) in.blocked_loops |= 1U << context_at(s);
    in.in_coroutine = a.what == kind::spawn || a.what == kind::sync_wait;
    in.is_away = in.is_guest = in.has_co_lock = false;
    in.home = made_.places[a.place].context;
    in.may_not_wait = in.may_not_wait || is_blocking(static_cast<unsigned>(in.place));
    in.is_repeated =
        in.is_repeated || a.what == kind::bulk || a.what == kind::repost || a.what == kind::group;
    return in;
}

void maker::add(std::vector<action>& to, site& s) {
    unsigned sum = 0;
    for (const kind_row& r : rows) sum += r.weight;
    for (unsigned attempts = 0; attempts != 12; ++attempts) {
        action a{};
        unsigned at = random_.below(sum);
        unsigned k = 0;
        for (; at >= rows[k].weight; ++k) at -= rows[k].weight;
        a.what = static_cast<kind>(k);
        if (!s.in_coroutine && is_coroutine_only(a.what)) continue;
        if (s.in_coroutine && !is_coroutine_only(a.what) && random_.chance(50)) continue;
        a.place = random_.below(static_cast<unsigned>(made_.places.size()));
        if (random_.chance(45)) a.place = last_place_; // seams are places where actions meet
        if (a.what == kind::request) a.place = some_lane(a.place);
        a.context = random_.chance(a.what == kind::then ? 40 : 80)
                        ? made_.places[a.place].context
                        : random_.below(static_cast<unsigned>(made_.contexts.size()));
        a.number = static_cast<std::uint32_t>(random_.next());
        a.throws = random_.chance(12) && chosen().is_on(kind::throws);
        a.calls_back = random_.chance(15) && chosen().is_on(trait::callback);
        if (made_.is_simulated && a.what != kind::submit && a.what != kind::then && a.what != kind::co_future)
            a.throws = false;
        if (!is_legal(a, s)) continue;
        --budget_;
        last_place_ = a.place;
        if (a.what == kind::end) ended_.insert(a.context);
        if (a.what == kind::fork_process) has_fork_ = true;
        if (a.what == kind::lane_idle && s.place >= 0) has_task_wait_ = true;
        if (a.what == kind::request) has_request_ = true;
        if (a.what == kind::await_deferred || a.what == kind::await_timer) has_await_ = true;
        if (a.what == kind::co_hop) {
            const unsigned where = made_.places[a.place].context;
            s.is_away = where != s.home && !context_of(a.place).is_graceful;
            s.is_guest = where != s.home && !is_pool(where);
        }
        if (rows[k].has_body && s.depth < 5) {
            site in = inside(a, s);
            while (budget_ != 0 && random_.chance(s.depth == 0 ? 72 : 50)) {
                const unsigned before = budget_;
                add(a.body, in);
                if (budget_ == before) break;
            }
        }
        to.push_back(std::move(a));
        return;
    }
}

} // namespace

switches& chosen() noexcept {
    static switches all = [] {
        switches usual;
        usual.trait_off[static_cast<unsigned>(trait::simulated)] = is_under_tsan; // has only one thread
        return usual;
    }();
    return all;
}

bool switches::turn(std::string_view name, bool is_off) {
    for (unsigned k = 0; k != kinds; ++k)
        if (rows[k].name == name) return kind_off[k] = is_off, true;
    for (unsigned t = 0; t != traits; ++t)
        if (trait_names[t] == name) return trait_off[t] = is_off, true;
    return false;
}

std::string_view name_of(kind k) noexcept { return rows[static_cast<unsigned>(k)].name; }

std::string all_names() {
    std::string out;
    for (const kind_row& r : rows) out += std::string(r.name) + " ";
    for (const std::string_view t : trait_names) out += std::string(t) + " ";
    return out;
}

plan make_plan(std::uint64_t seed, unsigned most) { return maker(seed, most).make(); }

} // namespace seams
