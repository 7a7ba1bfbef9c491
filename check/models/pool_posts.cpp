// Posts in two steps, to strands and lanes, against the end of a context with the entrance of a pool.
#include <check/engine/model.hpp>

#include <ekiden/async/async_turn.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/detail/post_scope.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/detail/pool_entrance.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <deque>
#include <memory>
#include <mutex>

namespace pool_posts_models {

namespace {

using namespace ekiden;

/// A context with the gate and the entrance of a pool. The thread that joins it runs its tasks.
class joined_context : public execution_context {
public:
    joined_context() noexcept {
        set_gate(gate_, gate_bit::refuses_all, gate_bit::stopped, gate_bit::refuses_outside);
        set_entrance(entrance_);
    }

    /// Like scheduler::join(). Afterwards the context refuses all tasks.
    void join() {
        entrance_.gather();
        gate_.fetch_or(gate_bit::closed, sys::seq_cst);
        do {
            check::that(entrance_.await_all(wait_limit()), "there is no limit");
            run();
        } while (!entrance_.try_end() && !has_stopped());
        if (has_stopped()) check::that(entrance_.await_posts(wait_limit()), "there is no limit");
        gate_.fetch_or(gate_bit::stopping, sys::relaxed);
        const std::lock_guard guard(lock_);
        check::that(tasks_.empty(), "no task is left");
    }
    /// Like scheduler::stop(), but the queued tasks run.
    void stop() {
        gate_.fetch_or(gate_bit::closed | gate_bit::stopping, sys::seq_cst);
        {
            const std::lock_guard quiesced(lock_);
        }
        gate_.fetch_or(gate_bit::stopped, sys::release);
        entrance_.give_up();
    }
    /// Like wait_idle() of a pool.
    void wait_idle() {
        for (std::uint32_t before = accepted_ + 1; before != accepted_;) {
            run();
            before = accepted_;
            check::that(entrance_.await_posts(wait_limit()), "there is no limit");
        }
    }
    /// Runs all tasks, as a thread of the context.
    void run() {
        role here(id());
        const role_scope scope(here);
        while (task* const next = take()) next->run();
    }

    struct executor : task_sink<executor> {
        explicit executor(joined_context& in) noexcept : in_(&in) {}
        joined_context& context() const noexcept { return *in_; }
        void on_work_started() const noexcept { in_->entrance_.work_started(); }
        void on_work_finished() const noexcept { in_->entrance_.work_finished(); }
        bool accept(task* given, task_order) const { return in_->submit(given); }
        bool running_in_this_thread() const noexcept { return role_scope::find(in_->id()) != nullptr; }
        void report_unhandled(const char*) const noexcept {}
        friend bool operator==(const executor&, const executor&) = default;

    private:
        joined_context* in_;
    };

private:
    [[nodiscard]] bool has_stopped() const { return (gate_.load(sys::acquire) & gate_bit::stopped) != 0; }

    struct role final : thread_role {
        explicit role(context_id of) noexcept : thread_role(of) {}
        bool wait_for(completion&, const wait_limit*) noexcept override { return false; }
        bool begin_blocking(const char*) noexcept override { return false; }
        void end_blocking() noexcept override {}
    };

    /// Like scheduler::submit().
    bool submit(task* given) {
        bool is_in = false;
        if (role_scope::find(id()) != nullptr) {
            is_in = push(given, gate_bit::refuses_all);
        } else {
            is_in = push(given, entrance_.refusing_bits());
            if (!is_in && entrance_.joins_outstanding_work()) {
                is_in = push(given, gate_bit::refuses_all);
                entrance_.leave_late();
            }
        }
        if (!is_in) given->abandon();
        return is_in;
    }
    bool push(task* given, std::uint32_t refused) {
        const std::lock_guard guard(lock_);
        if ((gate_.load(sys::relaxed) & refused) != 0) return false;
        tasks_.push_back(given);
        ++accepted_;
        return true;
    }
    task* take() {
        const std::lock_guard guard(lock_); // also waits for each push that has found the gate open
        if (tasks_.empty()) return nullptr;
        task* const oldest = tasks_.front();
        tasks_.pop_front();
        return oldest;
    }

    sys::atomic<std::uint32_t> gate_{0};
    pool_entrance entrance_{gate_};
    sys::slow_lock lock_;
    std::deque<task*> tasks_;
    std::uint32_t accepted_ = 0; // only the checker's one real thread runs
};

using test_strand = strand<joined_context::executor>;
using test_lanes = lanes<int, joined_context::executor>;
constexpr lanes_options one_shard{.shards = 1, .delay_sampling = 0};
constexpr lanes_options bounded{.lane_capacity = 2, .shards = 1, .delay_sampling = 0};

/// Posts a function that writes to `ran`. Returns whether the function was accepted.
bool post_to(const test_strand& s, sys::cell<int>& ran) {
    return s.post([&ran] { ran.write(1); });
}
bool post_to(const test_lanes& l, sys::cell<int>& ran) {
    return l.post(0, [&ran] { ran.write(1); });
}

/// The function of a post from outside, behind which other functions wait.
constexpr auto nothing = [] {};

} // namespace

// The thread that makes the strand busy may be held up before it gives the drain to the context.
EKIDEN_MODEL(post_behind_another_then_join, .load_buffering = false, .old_values = 2,
             .about = "[PC1] a post behind another one, then join: it ran", .preemptions = 2, .spurious = 0) {
    sys::cell<int> ran{0};
    joined_context context;
    const test_strand s(joined_context::executor{context});
    sys::thread first([&s] { (void)s.post(nothing); });
    check::that(post_to(s, ran), "the context is open");
    context.join();
    check::that(ran.read() == 1, "the function ran");
    first.join();
}

EKIDEN_MODEL(post_behind_another_then_idle, .load_buffering = false, .old_values = 2,
             .about = "a post behind another one, then wait_idle: it ran", .preemptions = 2, .spurious = 0) {
    sys::cell<int> ran{0};
    joined_context context;
    {
        const test_strand s(joined_context::executor{context});
        sys::thread first([&s] { (void)s.post(nothing); });
        check::that(post_to(s, ran), "the context is open");
        context.wait_idle();
        check::that(ran.read() == 1, "the function ran");
        first.join();
    }
    context.join();
}

EKIDEN_MODEL(post_during_join, .load_buffering = false, .old_values = 2,
             .about = "[PC1] two posts beside join: each is refused or run", .preemptions = 2,
             .spurious = 0) {
    sys::cell<int> first_ran{0};
    sys::cell<int> second_ran{0};
    joined_context context;
    const test_strand s(joined_context::executor{context});
    bool first_is_in = false;
    sys::thread first([&] { first_is_in = post_to(s, first_ran); });
    bool second_is_in = false;
    sys::thread second([&] { second_is_in = post_to(s, second_ran); });
    context.join();
    first.join();
    second.join();
    check::that(first_ran.read() == (first_is_in ? 1 : 0), "run if accepted");
    check::that(second_ran.read() == (second_is_in ? 1 : 0), "run if accepted");
}

EKIDEN_MODEL(post_during_join_by_a_task, .load_buffering = false, .old_values = 2,
             .about = "a task of a joined context posts behind a post from outside", .preemptions = 2,
             .spurious = 0) {
    sys::cell<int> ran{0};
    joined_context context;
    const test_strand s(joined_context::executor{context});
    (void)joined_context::executor{context}.post(
        [&] { check::that(post_to(s, ran), "a task of the context may post"); });
    sys::thread outside([&s] { (void)s.post(nothing); });
    context.join();
    check::that(ran.read() == 1, "the function ran");
    outside.join();
}

// A post that finds other work outstanding counts as work. The context ends when no work is left.
EKIDEN_MODEL(post_beside_work_that_ends, .load_buffering = false, .old_values = 2,
             .about = "[OW1] a post beside work that ends is refused or run", .preemptions = 2,
             .spurious = 0) {
    sys::cell<int> ran{0};
    joined_context context;
    const joined_context::executor executor{context};
    executor.on_work_started();
    bool is_in = false;
    sys::thread poster([&] { is_in = executor.post([&ran] { ran.write(1); }); });
    sys::thread worker([&] { executor.on_work_finished(); });
    context.join();
    poster.join();
    worker.join();
    check::that(ran.read() == (is_in ? 1 : 0), "run if accepted");
}

// A thread that sees an effect of the post may stop and destroy the context before the post returns.
EKIDEN_MODEL(late_post_then_stop, .load_buffering = false, .old_values = 2,
             .about = "the end waits for a post that counts as work, also after a stop", .preemptions = 2,
             .spurious = 0) {
    sys::atomic<bool> has_run{false};
    auto context = std::make_unique<joined_context>();
    const joined_context::executor executor{*context};
    executor.on_work_started(); // does not end
    sys::thread joiner([&] { context->join(); });
    sys::thread poster([&] { (void)executor.post([&] { has_run.store(true, sys::release); }); });
    while (!has_run.load(sys::acquire)) {
        context->run();
        sys::yield();
    }
    context->stop();
    joiner.join();
    context.reset();
    poster.join();
}

EKIDEN_MODEL(lanes_post_behind_another_then_join, .load_buffering = false, .old_values = 1,
             .about = "a post to lanes behind another one, then join: it ran", .preemptions = 2,
             .spurious = 0) {
    sys::cell<int> ran{0};
    joined_context context;
    const bool has_capacity = check::choose(2) == 1;
    const test_lanes l(joined_context::executor{context}, has_capacity ? bounded : one_shard);
    sys::thread first([&l] { (void)l.post(0, nothing); });
    check::that(post_to(l, ran), "the context is open");
    context.join();
    check::that(ran.read() == 1, "the function ran");
    first.join();
}

EKIDEN_MODEL(lanes_request_behind_another_then_join, .load_buffering = false, .old_values = 1,
             .about = "a post to lanes behind a request, then join: it ran", .preemptions = 2,
             .spurious = 0) {
    sys::cell<int> ran{0};
    joined_context context;
    const test_lanes l(joined_context::executor{context}, one_shard);
    sys::thread first([&l] { (void)l.post({0, 1}, nothing); });
    check::that(post_to(l, ran), "the context is open");
    context.join();
    check::that(ran.read() == 1, "the function ran");
    first.join();
}

// The thread that closes the lane abandons the request, and then owns the drain.
EKIDEN_MODEL(lanes_closed_during_join, .load_buffering = false, .old_values = 1,
             .about = "close() makes a function ready while the context is joined", .preemptions = 2,
             .spurious = 0) {
    sys::cell<int> ran{0};
    joined_context context;
    const test_lanes l(joined_context::executor{context}, one_shard);
    (void)l.post(1, nothing);
    (void)l.post({0, 1}, nothing);
    check::that(post_to(l, ran), "the context is open");
    sys::thread closer([&l] { (void)l.close(1); });
    context.join();
    check::that(ran.read() == 1, "the function ran");
    closer.join();
}

/// A turn in lane 0 that begins when the context runs.
struct outside_turn {
    explicit outside_turn(const test_lanes& l)
        : guard(detail::turn_access::make(l, l.keys().write(0), "a model")) {
        detail::turn_access::record(guard).enqueue(false);
    }
    lane_turn guard;
};

EKIDEN_MODEL(lanes_turn_ends_during_join, .load_buffering = false, .old_values = 1,
             .about = "a function behind a turn that lasts runs before join ends", .preemptions = 2,
             .spurious = 0) {
    sys::cell<int> ran{0};
    joined_context context;
    const test_lanes l(joined_context::executor{context}, one_shard);
    outside_turn turn(l);
    const bool has_begun = check::choose(2) == 1;
    if (has_begun) context.run();
    check::that(post_to(l, ran), "the context is open");
    sys::thread elsewhere([&turn] { turn.guard.end(); });
    context.join();
    check::that(ran.read() == 1, "the function ran");
    elsewhere.join();
}

// The flag orders nothing, so only the end of the scope publishes the write.
EKIDEN_MODEL(post_scope_ends_before_join, .load_buffering = false, .old_values = 2,
             .about = "[PC1] [PC2] join sees what was done in a scope", .preemptions = 2, .spurious = 0) {
    sys::cell<int> written{0};
    sys::atomic<bool> has_entered{false};
    joined_context context;
    sys::thread poster([&] {
        const post_scope posting(context);
        has_entered.store(true, sys::relaxed);
        written.write(1);
    });
    while (!has_entered.load(sys::relaxed)) sys::yield();
    context.join();
    check::that(written.read() == 1, "the write");
    poster.join();
}

EKIDEN_MODEL(work_count_late_start_against_the_end,
             .about = "[OW1] a late piece beside another one is awaited, or refused", .preemptions = 3,
             .spurious = 0) {
    sys::atomic<bool> is_over{false};
    work_count count;
    count.started();
    sys::thread other([&] { count.finished(); });
    count.gather();
    sys::thread late([&] {
        if (!count.started_beside_other()) return;
        check::that(!is_over.load(sys::relaxed), "the count has not ended");
        count.finished();
    });
    do check::that(count.wait(wait_limit()), "there is no limit");
    while (!count.try_end());
    is_over.store(true, sys::relaxed);
    other.join();
    late.join();
}

// Work that a task begins raises the count without a condition, also after the end.
EKIDEN_MODEL(work_count_start_after_the_end, .about = "after the end, a late piece is refused",
             .preemptions = 2, .spurious = 0) {
    work_count count;
    count.gather();
    check::that(count.wait(wait_limit()) && count.try_end(), "no work is outstanding");
    count.started();
    check::that(!count.started_beside_other(), "the count has ended");
    count.finished();
}

} // namespace pool_posts_models
