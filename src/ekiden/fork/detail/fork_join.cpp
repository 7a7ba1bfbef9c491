#include <ekiden/fork/fork_join.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/fork/detail/fork_service.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

namespace {

// ---- exceptions that were suppressed

/// Adds `from` to `to`, as far as there is memory.
void append(std::unique_ptr<detail::exception_list>& to, detail::fork_errors from) noexcept {
    try {
        if (to == nullptr && (from.thrown != nullptr || from.suppressed != nullptr))
            to = std::make_unique<detail::exception_list>();
        if (from.thrown != nullptr) to->push_back(std::move(from.thrown));
        if (from.suppressed != nullptr)
            to->insert(to->end(), from.suppressed->begin(), from.suppressed->end());
    } catch (...) { // no memory: the list is shorter
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

/// The party with which the calling thread takes part in the tree that begins.
class participation {
public:
    explicit participation(thread_pool* pool) : record_(thread_record::here()), before_(record_.party) {
        if (pool == nullptr && before_ != nullptr) return; // in the pool for which the thread works already
        thread_pool& host = pool != nullptr ? *pool : this_pool();
        engine_of(host).refuse_in_child("fork-join");
        auto& service = use_service<fork_service>(host);
        if (before_ != nullptr && &before_->arena() == &service.arena()) return;
        if (const auto index = host.this_worker_index())
            record_.party = &service.party_of(*index);
        else
            record_.party = guest_ = &guest_party(service.arena());
    }
    ~participation() {
        if (guest_ != nullptr) fork_arena::leave(*guest_);
        if (guest_ != nullptr || before_ != nullptr) record_.party = before_; // a worker keeps its own
    }
    participation(const participation&) = delete;
    participation& operator=(const participation&) = delete;

    [[nodiscard]] fork_party& party() const noexcept { return *record_.party; }
    /// Whether the thread is in a tree already, of this pool or of another one.
    [[nodiscard]] bool is_nested() const noexcept {
        return party().is_in_tree() || (before_ != nullptr && before_->is_in_tree());
    }

private:
    static fork_party& guest_party(fork_arena& arena) {
        refuse_in_simulation(scheduler::no_simulation);
        return arena.enter();
    }

    thread_record& record_;
    fork_party* const before_;
    fork_party* guest_ = nullptr; // borrowed: the thread is no worker of that pool
};

} // namespace

void detail::enter_fork_tree(thread_pool* pool, void (*body)(void* argument, fork_scope& scope),
                             void* argument, fork_history* history) {
    const participation mine(pool);
    if (!mine.is_nested()) replace_suppressed(nullptr);
    if (history == nullptr) {
        fork_segment root(mine.party(), nullptr);
        return body(argument, root.base);
    }
    struct timed_tree {
        fork_party& party;
        fork_history& history;
        const std::uint64_t begin = sys::now_ns();
        const std::uint64_t until = party.begin_tree(begin);
        // A call that runs long, and looks at no clock, hides the others from those who sleep until one
        // looks.
        const bool is_quiet = history.advises_quiet() && begin < until && party.arena().is_watched();

        timed_tree(fork_party& p, fork_history& h) noexcept : party(p), history(h) {}
        ~timed_tree() { // after an exception too
            const std::uint64_t end = sys::now_ns();
            party.end_tree(end);
            history.add(end - begin, party.arena().wake_up_ns(), is_quiet);
        }
    } const tree(mine.party(), *history);
    fork_segment root(tree.party, nullptr, tree.is_quiet ? tree.until : 0);
    body(argument, root.base);
}

void detail::fork_history::add(std::uint64_t took_ns, std::uint64_t wake_up_ns, bool was_quiet) noexcept {
    constexpr std::int64_t most_lost_ns = 10'000'000; // then a worker has looked: is_watched()
    const auto took = static_cast<std::int64_t>(took_ns);
    const auto wake_up = static_cast<std::int64_t>(wake_up_ns);
    const std::int64_t before = balance_ns_.load(sys::relaxed);
    std::int64_t after = before;
    if (took < wake_up)
        after = std::min(before + wake_up / 8, most_ns); // about what the call costs that wakes a thread
    else if (was_quiet)
        after = before - std::min(took, most_lost_ns);
    else if (before > -most_ns)
        after = before - wake_up;
    // Of two threads that do this at the same time one is not counted.
    if (after != before) balance_ns_.store(after, sys::relaxed);
}

} // namespace ekiden::inline EKIDEN_ABI
