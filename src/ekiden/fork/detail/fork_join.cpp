#include <ekiden/fork/fork_join.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/fork/detail/fork_service.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

namespace ekiden::inline EKIDEN_ABI {

namespace {

// ---- exceptions that were suppressed

/// Adds the exceptions of `from` to `to`. If there is no memory, these exceptions are lost.
void append(std::unique_ptr<detail::exception_list>& to, detail::fork_errors from) noexcept {
    try {
        if (to == nullptr && (from.thrown != nullptr || from.suppressed != nullptr))
            to = std::make_unique<detail::exception_list>();
        if (from.thrown != nullptr) to->push_back(std::move(from.thrown));
        if (from.suppressed != nullptr)
            to->insert(to->end(), from.suppressed->begin(), from.suppressed->end());
    } catch (...) {
    }
}

} // namespace

detail::fork_errors detail::caught_fork_errors() noexcept {
    return {std::current_exception(), take_suppressed()};
}

detail::fork_errors detail::joined(fork_errors first, fork_errors second) noexcept {
    if (first.thrown == nullptr) std::swap(first, second);
    append(first.suppressed, std::move(second));
    return first;
}

void detail::throw_fork_errors(fork_errors errors) {
    replace_suppressed(std::move(errors.suppressed));
    std::rethrow_exception(std::move(errors.thrown));
}

// ---- the root of a tree

namespace {

/// Chooses the calling thread's participant for a new tree. The destructor returns a borrowed participant to
/// the arena.
class participation {
public:
    explicit participation(thread_pool* pool) : record_(thread_record::here()), before_(record_.participant) {
        if (pool == nullptr && before_ != nullptr) return; // the pool for which the thread already works
        thread_pool& host = pool != nullptr ? *pool : this_pool();
        engine_of(host).refuse_in_child("fork-join");
        auto& service = use_service<fork_service>(host);
        if (before_ != nullptr && &before_->arena() == &service.arena()) return;
        if (const auto index = host.this_worker_index())
            record_.participant = &service.participant_of(*index);
        else
            record_.participant = guest_ = &guest_participant(service.arena());
    }
    ~participation() {
        if (guest_ != nullptr) fork_arena::leave(*guest_);
        if (guest_ != nullptr || before_ != nullptr) record_.participant = before_; // a worker keeps its own
    }
    participation(const participation&) = delete;
    participation& operator=(const participation&) = delete;

    [[nodiscard]] fork_participant& participant() const noexcept { return *record_.participant; }
    /// Returns whether the thread is already in a tree of any pool.
    [[nodiscard]] bool is_nested() const noexcept {
        return participant().is_in_tree() || (before_ != nullptr && before_->is_in_tree());
    }

private:
    static fork_participant& guest_participant(fork_arena& arena) {
        refuse_in_simulation(scheduler::no_simulation);
        if (thread_record& here = thread_record::here(); here.stack_reserve == 0) here.set_stack_reserve(0);
        return arena.enter();
    }

    thread_record& record_;
    fork_participant* const before_;
    fork_participant* guest_ = nullptr; // borrowed, because the thread is not a worker of the pool
};

} // namespace

namespace {

/// Measures the duration of a loop, and records the duration in the history of the loop, even if the loop
/// throws.
class timed_loop {
public:
    explicit timed_loop(detail::loop_history& history) noexcept
        : history_(history), is_quiet_(history.expects_short_loop()) {}
    ~timed_loop() { history_.add(sys::now_ns() - begin_ns_, is_quiet_); }
    timed_loop(const timed_loop&) = delete;
    timed_loop& operator=(const timed_loop&) = delete;

    /// Returns the time until which the loop wakes no worker, or 0 if the loop wakes workers immediately.
    [[nodiscard]] std::uint64_t quiet_until() const noexcept {
        return is_quiet_ ? begin_ns_ + detail::loop_history::short_ns : 0;
    }

private:
    detail::loop_history& history_;
    const bool is_quiet_;
    const std::uint64_t begin_ns_ = sys::now_ns();
};

} // namespace

void detail::enter_fork_tree(thread_pool* pool, void (*body)(void* argument, fork_scope& scope),
                             void* argument, loop_history* history) {
    const participation mine(pool);
    if (!mine.is_nested()) replace_suppressed(nullptr);
    std::optional<timed_loop> loop;
    if (history != nullptr) loop.emplace(*history);
    fork_segment root(mine.participant(), nullptr, loop ? loop->quiet_until() : 0);
    body(argument, root.base);
}

void detail::loop_history::add(std::uint64_t took_ns, bool was_quiet) noexcept {
    constexpr std::uint64_t call_ns = 5'000; // approximate cost of the call that wakes a worker
    const std::int64_t before = points_.load(sys::relaxed);
    std::int64_t after = before;
    if (took_ns < short_ns)
        ++after;
    else if (was_quiet)
        after -= static_cast<std::int64_t>(took_ns / call_ns);
    after = std::clamp(after, -most_points, most_points);
    // Load and store are not one atomic step. If two threads record loops at the same time, one of the loops
    // is not counted.
    if (after != before) points_.store(after, sys::relaxed);
}

} // namespace ekiden::inline EKIDEN_ABI
