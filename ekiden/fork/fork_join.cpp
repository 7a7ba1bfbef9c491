#include <ekiden/fork/fork_join.hpp>

#include <ekiden/fork/fork_party.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/scheduler.hpp>
#include <ekiden/sys/thread.hpp>

namespace ekiden::inline EKIDEN_ABI {

namespace {

struct current_party {
    fork_party* here = nullptr;
};

// ---- exceptions that were suppressed

struct suppressed_list {
    std::vector<std::exception_ptr>* list = nullptr;
    bool is_owned = false; // somebody frees it when the thread ends
};

void set_suppressed(std::vector<std::exception_ptr>* list) noexcept {
    auto& mine = sys::local<suppressed_list>();
    delete std::exchange(mine.list, list);
    if (list == nullptr || mine.is_owned) return;
    try {
        mine.is_owned =
            sys::at_thread_exit([](void*) { delete sys::local<suppressed_list>().list; }, nullptr);
    } catch (...) { // no memory; the next time, perhaps
    }
    if (!mine.is_owned) delete std::exchange(mine.list, nullptr);
}

/// Adds `from` to `to`, as far as there is memory.
void append(std::vector<std::exception_ptr>*& to, fork_errors&& from) noexcept {
    try {
        if (from.thrown != nullptr) {
            if (to == nullptr) to = new std::vector<std::exception_ptr>();
            to->push_back(std::move(from.thrown));
        }
        if (from.suppressed != nullptr) {
            if (to == nullptr) to = new std::vector<std::exception_ptr>();
            to->insert(to->end(), from.suppressed->begin(), from.suppressed->end());
        }
    } catch (...) {
    }
    delete from.suppressed;
}

} // namespace

std::vector<std::exception_ptr> suppressed_exceptions() {
    const auto* const list = sys::local<suppressed_list>().list;
    return list != nullptr ? *list : std::vector<std::exception_ptr>();
}

fork_errors caught_fork_errors() noexcept {
    return {std::current_exception(), std::exchange(sys::local<suppressed_list>().list, nullptr)};
}

void throw_fork_errors(fork_errors first, fork_errors second) {
    if (first.thrown == nullptr) std::swap(first, second);
    append(first.suppressed, std::move(second));
    set_suppressed(first.suppressed);
    std::rethrow_exception(std::move(first.thrown));
}

// ---- the root of a tree

fork_party* fork_party::of_this_thread() noexcept { return sys::local<current_party>().here; }

fork_party* fork_party::set_for_this_thread(fork_party* party) noexcept {
    return std::exchange(sys::local<current_party>().here, party);
}

void enter_fork_tree(thread_pool* pool, void (*body)(void* argument, fork_scope& scope), void* argument) {
    /// A thread that is no worker, while it takes part.
    struct guest {
        explicit guest(fork_arena& arena)
            : party(arena.enter()), before(fork_party::set_for_this_thread(&party)) {}
        ~guest() {
            fork_party::set_for_this_thread(before);
            fork_arena::leave(party);
        }
        guest(const guest&) = delete;
        guest& operator=(const guest&) = delete;

        fork_party& party;
        fork_party* const before;
    };

    std::optional<guest> visit;
    fork_party* party = fork_party::of_this_thread();
    if (party == nullptr || (pool != nullptr && &party->arena() != &engine_of(*pool).forks()))
        party = &visit.emplace(engine_of(pool != nullptr ? *pool : default_pool()).forks()).party;
    if (!party->is_in_tree()) set_suppressed(nullptr);
    fork_segment root(*party, nullptr);
    body(argument, root.base);
}

} // namespace ekiden::inline EKIDEN_ABI
