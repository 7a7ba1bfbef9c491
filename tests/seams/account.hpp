/// What happens to each callable, and what the threads are inside of: the exact accounts of a program.
#pragma once

#include "plan.hpp"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace seams {

struct world;
struct place_slot;
struct context_slot;

/// Memory that the process which watches shares with the one that runs programs.
struct shared_page {
    std::atomic<std::uint64_t> progress{0}; ///< grows with each action and each call
    std::atomic<std::uint64_t> seed{0};     ///< the program that runs
    std::atomic<std::uint64_t> programs{0}; ///< that have ended
    std::atomic<bool> has_failed{false};
    std::array<char, 2000> message{};
};
[[nodiscard]] shared_page& page() noexcept;
[[nodiscard]] shared_page*& page_pointer() noexcept;
inline void progress() noexcept { page().progress.fetch_add(1, std::memory_order_relaxed); }

/// An account is wrong: leaves the message for the process that watches, and ends this one.
[[noreturn]] void fail(const char* what, const struct record* of = nullptr, long long number = 0);

/// Thrown by callables, and by inner executors of lanes.
struct marked {};
struct executor_failed : std::runtime_error {
    executor_failed() : std::runtime_error("an inner executor") {}
};

/// All that is known of the callables of one action. Its callable may be copied and called several times.
struct record {
    world* in = nullptr;
    const action* of = nullptr;
    place_slot* place = nullptr;
    kind how = kind::post;
    int driver = -1;          ///< that posted it, if no callable did
    bool is_callback = false; ///< posted by a destructor: its callable does nothing
    bool is_guarded = false;  ///< its context has outstanding work until it is posted
    bool from_inside = false; ///< posted by a callable of the same context
    bool is_at_thread_end = false;
    std::atomic<bool> may_be_dropped{false}; ///< canceled by the program
    std::atomic<bool> must_not_run{false};
    std::atomic<int> copies{0};   ///< callables that exist
    std::atomic<int> accepted{0}; ///< calls that were accepted
    std::atomic<int> refused{0};  ///< posts that returned false; not those that threw
    std::atomic<int> runs{0};
    std::atomic<int> left{0};             ///< times that it posts itself again
    std::atomic<std::uint64_t> before{0}; ///< ticks around its post
    std::atomic<std::uint64_t> after{0};
};

/// What a thread does now in the library, and which functions may run inside of that.
struct call_scope {
    enum class type : std::uint8_t {
        plain,    ///< none
        in_place, ///< `own` alone
        helps,    ///< any
    };
    call_scope(type what, const record* own = nullptr) noexcept;
    ~call_scope();
    call_scope(const call_scope&) = delete;
    call_scope& operator=(const call_scope&) = delete;

    const type is;
    const record* const own;
    call_scope* const outer;
};

/// A callable that runs on this thread, or the part of a coroutine between two suspensions.
struct visit {
    visit(place_slot& where, const record* runs);
    ~visit();
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    place_slot& place;
    call_scope* const outer_call;
    visit* const below;
    bool is_nested = false; ///< inside of another visit of the same place, that asked for it
};
[[nodiscard]] visit* top_visit() noexcept;
/// Whether the thread is inside of a function of `place`.
[[nodiscard]] bool is_inside(const place_slot& place) noexcept;
/// Whether a call of the library that may run other functions is under way on this thread.
[[nodiscard]] bool is_helping() noexcept;

/// The callable. Runs the body of its record's action.
class call {
public:
    explicit call(record& of) noexcept : of_(&of) { of.copies.fetch_add(1, std::memory_order_relaxed); }
    call(const call& other) noexcept : of_(other.of_) {
        if (of_ != nullptr) of_->copies.fetch_add(1, std::memory_order_relaxed);
    }
    call(call&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    call& operator=(const call&) = delete;
    call& operator=(call&&) = delete;
    ~call();

    void operator()() const;
    [[nodiscard]] record& of() const noexcept { return *of_; }

private:
    record* of_;
};

/// The same with a result, for futures.
struct valued_call {
    call inner;
    int operator()() const {
        inner();
        return static_cast<int>(inner.of().of->index);
    }
};

/// The same of another size, so that it lies in other memory.
struct large_call {
    call inner;
    std::array<char, 150> room{};
    void operator()() const { inner(); }
};

/// After the end of all contexts.
void check_accounts(world& in);

} // namespace seams
