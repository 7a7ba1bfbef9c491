// Every operation of this part that can block, in each of its forms: it succeeds, at once and after a wait;
// its time passes; a stop is requested before it and during its wait. The table of docs/waits.md.
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

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// What an operation has come to: `unsaid` if it returns false or nothing, which does not say why.
enum class outcome { done, unsaid, timed_out, stopped, wrong };

outcome outcome_of(bool is_done) { return is_done ? outcome::done : outcome::unsaid; }
outcome outcome_of(queue_status s) {
    return s == queue_status::done        ? outcome::done
           : s == queue_status::timed_out ? outcome::timed_out
           : s == queue_status::stopped   ? outcome::stopped
                                          : outcome::wrong;
}
template <class T>
outcome outcome_of(const std::optional<T>& result) {
    return outcome_of(result.has_value());
}
template <class T>
outcome outcome_of(const popped<T>& result) {
    CHECK(result.has_value() == (result.status() == queue_status::done));
    return outcome_of(result.status());
}

/// The five forms of an operation on one object. All run in a thread of their own, but for open().
struct operation {
    std::function<void()> open; ///< lets it succeed
    std::function<outcome()> plain;
    std::function<outcome(const wait_limit&)> limited;
    std::function<outcome(std::stop_token)> stopped;
    std::function<outcome(std::chrono::milliseconds)> timed_for;
    std::function<outcome(steady::time_point)> timed_until;
    std::function<bool()> is_settled; ///< after it has given up, and open(): null: then it succeeds
};

/// `any(limit...)` calls the form without a limit, or with a limit or a token; a plain form may return void.
template <class Any, class For, class Until>
operation forms(std::function<void()> open, Any any, For timed_for, Until timed_until) {
    operation made;
    made.open = std::move(open);
    made.plain = [any] {
        if constexpr (std::is_void_v<decltype(any())>) {
            any();
            return outcome::done;
        } else {
            return outcome_of(any());
        }
    };
    made.limited = [any](const wait_limit& limit) { return outcome_of(any(limit)); };
    made.stopped = [any](const std::stop_token& stop) { return outcome_of(any(stop)); };
    made.timed_for = [timed_for](std::chrono::milliseconds d) { return outcome_of(timed_for(d)); };
    made.timed_until = [timed_until](steady::time_point t) { return outcome_of(timed_until(t)); };
    return made;
}

/// Makes an operation on a new object, in a state in which it must wait.
struct row {
    std::string name;
    std::function<operation()> make;
};

// Calls `form` in a thread, and checks what it comes to. `during` happens when it sleeps, or null: before.
void expect(const outcome expected, const std::function<outcome()>& form,
            const std::function<void()>& during = nullptr) {
    outcome got = outcome::wrong;
    const auto body = [&] { got = form(); };
    std::thread caller = during ? ekiden_test::start_asleep(body) : std::thread(body);
    if (during) during();
    caller.join();
    if (got == outcome::unsaid && expected != outcome::done) got = expected;
    CHECK(got == expected);
}

// Of the form that `pick(operation)` returns, bound to its limit.
template <class Pick>
void expect_success(const row& r, Pick pick) {
    const operation late = r.make();
    expect(outcome::done, pick(late), late.open);
    const operation early = r.make();
    early.open();
    expect(outcome::done, pick(early));
}
template <class Pick>
void expect_failure(const row& r, outcome expected, Pick pick,
                    const std::function<void()>& during = nullptr) {
    const operation op = r.make();
    expect(expected, pick(op), during);
    // It has had no effect, or the one that its comment names.
    op.open();
    if (op.is_settled)
        CHECK(op.is_settled());
    else
        expect(outcome::done, op.plain);
}

auto limited_by(const wait_limit& limit) {
    return [limit](const operation& op) { return [&op, limit] { return op.limited(limit); }; };
}
auto stopped_by(const std::stop_token& stop) {
    return [stop](const operation& op) { return [&op, stop] { return op.stopped(stop); }; };
}
auto timed(std::chrono::milliseconds d) {
    return [d](const operation& op) { return [&op, d] { return op.timed_for(d); }; };
}
auto until(std::chrono::milliseconds d) {
    return [d](const operation& op) { return [&op, d] { return op.timed_until(steady::now() + d); }; };
}

void check_all_forms(const row& r) {
    CAPTURE(r.name);
    std::stop_source never;
    expect_success(r, [](const operation& op) { return op.plain; });
    expect_success(r, limited_by(wait_limit::after(1h).with(never.get_token())));
    expect_success(r, stopped_by(never.get_token()));
    expect_success(r, timed(1h));
    expect_success(r, until(1h));

    for (const auto limit : {0ms, 1ms}) {
        expect_failure(r, outcome::timed_out, limited_by(wait_limit::after(limit)));
        expect_failure(r, outcome::timed_out, timed(limit));
        expect_failure(r, outcome::timed_out, until(limit));
    }

    std::stop_source early;
    early.request_stop();
    expect_failure(r, outcome::stopped, stopped_by(early.get_token()));
    expect_failure(r, outcome::stopped, limited_by(wait_limit::after(1h).with(early.get_token())));

    std::stop_source late;
    expect_failure(r, outcome::stopped, stopped_by(late.get_token()), [&] { late.request_stop(); });
    std::stop_source later;
    expect_failure(r, outcome::stopped, limited_by(wait_limit::after(1h).with(later.get_token())),
                   [&] { later.request_stop(); });
}

// The pack `limit` is empty, or a limit, or a token.
#define EKIDEN_ANY(call) [=](auto... limit) { return call; }
#define EKIDEN_FOR(call) [=](std::chrono::milliseconds d) { return call; }
#define EKIDEN_UNTIL(call) [=](steady::time_point t) { return call; }

template <class Mutex>
row lock_row(const std::string& name) {
    return {name + "::lock", [] {
                const auto m = std::make_shared<Mutex>();
                m->lock();
                // The caller unlocks what it has locked.
                const auto unlock = [m](bool is_locked) { return is_locked ? (m->unlock(), true) : false; };
                const auto any = [=](auto... limit) {
                    if constexpr (sizeof...(limit) == 0)
                        return m->lock(), unlock(true);
                    else
                        return unlock(m->lock(limit...));
                };
                return forms([m] { m->unlock(); }, any, EKIDEN_FOR(unlock(m->try_lock_for(d))),
                             EKIDEN_UNTIL(unlock(m->try_lock_until(t))));
            }};
}

row lock_numbered_row() {
    return {"fifo_mutex::lock_numbered", [] {
                const auto m = std::make_shared<fifo_mutex>();
                m->lock();
                const auto unlock = [m](std::optional<std::uint32_t> number) {
                    if (number) m->unlock();
                    return number;
                };
                return forms([m] { m->unlock(); }, EKIDEN_ANY(unlock(m->lock_numbered(limit...))),
                             EKIDEN_FOR(unlock(m->try_lock_numbered_for(d))),
                             EKIDEN_UNTIL(unlock(m->try_lock_numbered_until(t))));
            }};
}

template <rw_policy Policy>
row lock_shared_row() {
    return {"rw_mutex::lock_shared", [] {
                const auto m = std::make_shared<rw_mutex<Policy>>();
                m->lock();
                const auto unlock = [m](bool is_locked) {
                    return is_locked ? (m->unlock_shared(), true) : false;
                };
                const auto any = [=](auto... limit) {
                    if constexpr (sizeof...(limit) == 0)
                        return m->lock_shared(), unlock(true);
                    else
                        return unlock(m->lock_shared(limit...));
                };
                return forms([m] { m->unlock(); }, any, EKIDEN_FOR(unlock(m->try_lock_shared_for(d))),
                             EKIDEN_UNTIL(unlock(m->try_lock_shared_until(t))));
            }};
}

template <rw_policy Policy>
row upgrade_row() {
    return {"rw_mutex::upgrade", [] {
                const auto m = std::make_shared<rw_mutex<Policy>>();
                m->lock_shared();
                // A reader upgrades. After a failure it must be a reader, and after a success the writer.
                const auto as_reader = [m](auto upgrade) {
                    m->lock_shared();
                    const bool is_writer = upgrade();
                    is_writer ? m->unlock() : m->unlock_shared();
                    return is_writer;
                };
                return forms([m] { m->unlock_shared(); },
                             EKIDEN_ANY(as_reader([&] { return m->upgrade(limit...); })),
                             EKIDEN_FOR(as_reader([&] { return m->try_upgrade_for(d); })),
                             EKIDEN_UNTIL(as_reader([&] { return m->try_upgrade_until(t); })));
            }};
}

template <rw_policy Policy>
row rw_run_row() {
    return {"rw_mutex::run", [] {
                const auto m = std::make_shared<rw_mutex<Policy>>();
                m->lock_shared();
                const auto nothing = [] {};
                return forms([m] { m->unlock_shared(); }, EKIDEN_ANY(m->run(limit..., nothing)),
                             EKIDEN_FOR(m->run_for(d, nothing)), EKIDEN_UNTIL(m->run_until(t, nothing)));
            }};
}

row acquire_row() {
    return {"counting_semaphore::acquire", [] {
                const auto permits = std::make_shared<counting_semaphore<>>(0);
                return forms([=] { permits->release(); }, EKIDEN_ANY(permits->acquire(limit...)),
                             EKIDEN_FOR(permits->try_acquire_for(d)),
                             EKIDEN_UNTIL(permits->try_acquire_until(t)));
            }};
}

row event_row() {
    return {"event::wait", [] {
                const auto e = std::make_shared<event>();
                return forms([=] { e->set(); }, EKIDEN_ANY(e->wait(limit...)), EKIDEN_FOR(e->wait_for(d)),
                             EKIDEN_UNTIL(e->wait_until(t)));
            }};
}

row latch_row() {
    return {"latch::wait", [] {
                const auto l = std::make_shared<latch>(1);
                return forms([=] { l->count_down(); }, EKIDEN_ANY(l->wait(limit...)),
                             EKIDEN_FOR(l->wait_for(d)), EKIDEN_UNTIL(l->wait_until(t)));
            }};
}

row latch_arrive_row() {
    return {"latch::arrive_and_wait", [] {
                const auto l = std::make_shared<latch>(2);
                operation op =
                    forms([=] { l->count_down(); }, EKIDEN_ANY(l->arrive_and_wait(limit...)),
                          EKIDEN_FOR(l->arrive_and_wait_for(d)), EKIDEN_UNTIL(l->arrive_and_wait_until(t)));
                op.is_settled = [=] { return l->try_wait(); }; // the arrival has counted
                return op;
            }};
}

row barrier_row() {
    return {"barrier::wait", [] {
                const auto b = std::make_shared<barrier<>>(2);
                const auto round = b->arrive();
                return forms([=] { (void)b->arrive(); }, EKIDEN_ANY(b->wait(round, limit...)),
                             EKIDEN_FOR(b->wait_for(round, d)), EKIDEN_UNTIL(b->wait_until(round, t)));
            }};
}

row barrier_arrive_row() {
    return {"barrier::arrive_and_wait", [] {
                const auto b = std::make_shared<barrier<>>(3);
                const auto round = b->arrive();
                operation op =
                    forms([=] { (void)b->arrive(); }, EKIDEN_ANY(b->arrive_and_wait(limit...)),
                          EKIDEN_FOR(b->arrive_and_wait_for(d)), EKIDEN_UNTIL(b->arrive_and_wait_until(t)));
                op.is_settled = [=] { return b->is_complete(round); }; // the arrival has counted
                return op;
            }};
}

row elastic_enter_row() {
    return {"elastic_barrier::enter", [] {
                const auto b = std::make_shared<elastic_barrier>(2);
                b->enter();
                b->enter();
                return forms([=] { b->leave(), b->leave(); }, EKIDEN_ANY(b->enter(limit...)),
                             EKIDEN_FOR(b->enter_for(d)), EKIDEN_UNTIL(b->enter_until(t)));
            }};
}

row elastic_leave_row() {
    return {"elastic_barrier::leave", [] {
                const auto b = std::make_shared<elastic_barrier>(2);
                b->enter();
                return forms([=] { b->enter(); }, EKIDEN_ANY(b->leave(limit...)), EKIDEN_FOR(b->leave_for(d)),
                             EKIDEN_UNTIL(b->leave_until(t)));
            }};
}

enum class gate { shut, open };
enum class gate_op { push, pass };
constexpr auto gate_table = make_state_table<gate, gate_op>(
    gate::shut, {{gate_op::push, gate::shut, gate::open}, {gate_op::pass, gate::open, gate::open}});
using gate_mutex = state_mutex<gate_table>;

bool passed(gate_mutex::guard<gate_op::pass> inside) {
    inside.leave<gate::open>();
    return true;
}
bool passed(std::optional<gate_mutex::guard<gate_op::pass>> inside) {
    if (inside) inside->leave<gate::open>();
    return inside.has_value();
}

row enter_row() {
    return {"state_mutex::enter", [] {
                const auto m = std::make_shared<gate_mutex>();
                return forms([=] { m->enter<gate_op::push>().leave<gate::open>(); },
                             EKIDEN_ANY(passed(m->template enter<gate_op::pass>(limit...))),
                             EKIDEN_FOR(passed(m->enter_for<gate_op::pass>(d))),
                             EKIDEN_UNTIL(passed(m->enter_until<gate_op::pass>(t))));
            }};
}

row enter_unwind_row() {
    return {"state_mutex::enter with a state for exceptions", [] {
                const auto m = std::make_shared<gate_mutex>();
                return forms([=] { m->enter<gate_op::push>().leave<gate::open>(); },
                             EKIDEN_ANY(passed(m->template enter<gate_op::pass, gate::open>(limit...))),
                             EKIDEN_FOR(passed(m->enter_for<gate_op::pass, gate::open>(d))),
                             EKIDEN_UNTIL(passed(m->enter_until<gate_op::pass, gate::open>(t))));
            }};
}

row state_run_row() {
    return {"state_mutex::run", [] {
                const auto m = std::make_shared<gate_mutex>();
                const auto stay = [](gate now) { return now; };
                return forms([=] { m->enter<gate_op::push>().leave<gate::open>(); },
                             EKIDEN_ANY(m->template run<gate_op::pass>(limit..., stay)),
                             EKIDEN_FOR(m->run_for<gate_op::pass>(d, stay)),
                             EKIDEN_UNTIL(m->run_until<gate_op::pass>(t, stay)));
            }};
}

template <class Buffer, class Item>
row push_row(const std::string& name, std::function<std::shared_ptr<Buffer>()> make) {
    return {name + "::push", [make] {
                const auto b = make();
                while (b->try_push(0) == queue_status::done) {
                }
                return forms(
                    [=] {
                        while (b->try_pop()) {
                        }
                    },
                    [=](auto... limit) {
                        Item item = 7;
                        return b->push(static_cast<Item&&>(item), limit...);
                    },
                    EKIDEN_FOR(b->push_for(Item{7}, d)), EKIDEN_UNTIL(b->push_until(Item{7}, t)));
            }};
}

template <class Buffer>
row pop_row(const std::string& name, std::function<std::shared_ptr<Buffer>()> make) {
    return {name + "::pop", [make] {
                const auto b = make();
                return forms([=] { (void)b->push(7); }, EKIDEN_ANY(b->pop(limit...)),
                             EKIDEN_FOR(b->pop_for(d)), EKIDEN_UNTIL(b->pop_until(t)));
            }};
}

row serve_row() {
    return {"sequencer::serve", [] {
                const auto desk = std::make_shared<sequencer<int, int>>();
                const auto same = [](std::uint64_t, int n) { return n; };
                return forms([=] { desk->close(); }, EKIDEN_ANY(desk->serve(limit..., same)),
                             EKIDEN_FOR(desk->serve_for(d, same)), EKIDEN_UNTIL(desk->serve_until(t, same)));
            }};
}

} // namespace

TEST_CASE("each form of a mutex's lock succeeds, times out and stops") {
    check_all_forms(lock_row<mutex>("mutex"));
    check_all_forms(lock_row<fifo_mutex>("fifo_mutex"));
    check_all_forms(lock_row<hybrid_mutex>("hybrid_mutex"));
    check_all_forms(lock_numbered_row());
}

TEST_CASE_TEMPLATE("each form of an rw_mutex's operations succeeds, times out and stops", Policy,
                   std::integral_constant<rw_policy, rw_policy::basic>,
                   std::integral_constant<rw_policy, rw_policy::writer_next>,
                   std::integral_constant<rw_policy, rw_policy::writer_first>,
                   std::integral_constant<rw_policy, rw_policy::fifo>) {
    check_all_forms(lock_row<rw_mutex<Policy::value>>("rw_mutex"));
    check_all_forms(lock_shared_row<Policy::value>());
    check_all_forms(upgrade_row<Policy::value>());
    check_all_forms(rw_run_row<Policy::value>());
}

TEST_CASE("each form of waiting for a permit, an event, a latch or a barrier succeeds, times out and stops") {
    check_all_forms(acquire_row());
    check_all_forms(event_row());
    check_all_forms(latch_row());
    check_all_forms(latch_arrive_row());
    check_all_forms(barrier_row());
    check_all_forms(barrier_arrive_row());
    check_all_forms(elastic_enter_row());
    check_all_forms(elastic_leave_row());
}

TEST_CASE("each form of a state_mutex's operations succeeds, times out and stops") {
    check_all_forms(enter_row());
    check_all_forms(enter_unwind_row());
    check_all_forms(state_run_row());
}

TEST_CASE("each form of push and pop succeeds, times out and stops, and its status says which") {
    using bounded = bounded_buffer<int>;
    using marked = watermark_buffer<int>;
    const auto make_bounded = [] { return std::make_shared<bounded>(1); };
    const auto make_marked = [] { return std::make_shared<marked>(0, 1); };
    check_all_forms(push_row<bounded, int>("bounded_buffer", make_bounded));
    check_all_forms(push_row<bounded, const int>("bounded_buffer, of a copy", make_bounded));
    check_all_forms(pop_row<bounded>("bounded_buffer", make_bounded));
    check_all_forms(push_row<marked, int>("watermark_buffer", make_marked));
    check_all_forms(push_row<marked, const int>("watermark_buffer, of a copy", make_marked));
    check_all_forms(pop_row<marked>("watermark_buffer", make_marked));
}

TEST_CASE("each form of a sequencer's serve succeeds, times out and stops") { check_all_forms(serve_row()); }

TEST_CASE("a server whose limit is reached has processed what had arrived, and may serve again") {
    sequencer<int, int> desk;
    const auto twice = [](std::uint64_t, int n) { return 2 * n; };
    int replies = 0;
    std::thread caller = ekiden_test::start_asleep([&] { replies += desk.call(1)->reply; });
    CHECK_FALSE(desk.serve_for(0s, twice));
    caller.join();
    CHECK(replies == 2);
    std::stop_source stop;
    std::thread server = ekiden_test::start_asleep([&] { CHECK_FALSE(desk.serve(stop.get_token(), twice)); });
    CHECK(desk.call(3)->reply == 6);
    stop.request_stop();
    server.join();
    CHECK(desk.processed() == 2);
    desk.close();
    CHECK(desk.serve_for(0s, twice));
    CHECK_FALSE(desk.call(4));
}

TEST_CASE("a reader whose upgrade gives up lets waiting readers in, or stays before a waiting writer") {
    rw_mutex<> m;
    m.lock_shared();
    std::stop_source stop;
    std::thread upgrader = ekiden_test::start_asleep([&] {
        m.lock_shared();
        CHECK_FALSE(m.upgrade(stop.get_token()));
        m.unlock_shared();
    });
    std::thread reader = ekiden_test::start_asleep([&] {
        m.lock_shared();
        m.unlock_shared();
    });
    stop.request_stop();
    upgrader.join();
    reader.join(); // while this thread is inside as a reader
    bool has_written = false;
    std::stop_source other;
    upgrader = ekiden_test::start_asleep([&] {
        m.lock_shared();
        CHECK_FALSE(m.upgrade(other.get_token()));
        CHECK_FALSE(has_written);
        m.unlock_shared();
    });
    std::thread writer = ekiden_test::start_asleep([&] {
        m.lock();
        has_written = true;
        m.unlock();
    });
    other.request_stop();
    upgrader.join();
    CHECK_FALSE(m.try_lock_shared()); // the writer waits
    m.unlock_shared();
    writer.join();
    CHECK(has_written);
}
