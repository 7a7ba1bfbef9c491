/// The exact accounts of a program: what happens to each callable, and what each thread is inside of.
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

/// Memory that the watching process shares with the process that runs programs.
struct shared_page {
    std::atomic<std::uint64_t> progress{0}; ///< increases with each action and each call
    std::atomic<std::uint64_t> seed{0};     ///< the program that is running
    std::atomic<std::uint64_t> programs{0}; ///< programs that have ended
    std::atomic<bool> has_failed{false};
    std::array<char, 2000> message{};
};
[[nodiscard]] shared_page& page() noexcept;
[[nodiscard]] shared_page*& page_pointer() noexcept;
inline void progress() noexcept { page().progress.fetch_add(1, std::memory_order_relaxed); }

/// Reports a wrong account: leaves the message for the watching process and terminates this one.
[[noreturn]] void fail(const char* what, const struct record* of = nullptr, long long number = 0);

/// Thrown by callables and by inner executors of lanes.
struct marked {};
struct executor_failed : std::runtime_error {
    executor_failed() : std::runtime_error("an inner executor") {}
};

/// The data about the callables of one action. Its callable may be copied and called several times.
struct record {
    world* in = nullptr;
    const action* of = nullptr;
    place_slot* place = nullptr;
    kind how = kind::post;
    int driver = -1;          ///< the driver that posted it, if no callable did
    bool is_callback = false; ///< posted by a destructor; its callable does nothing
    bool is_guarded = false;  ///< its context has outstanding work until it is posted
    bool from_inside = false; ///< posted by a callable of the same context
    bool is_at_thread_end = false;
    std::atomic<bool> may_be_dropped{false}; ///< the program has canceled it
    std::atomic<bool> must_not_run{false};
    std::atomic<int> copies{0};   ///< number of existing callables
    std::atomic<int> accepted{0}; ///< number of accepted calls
    std::atomic<int> refused{0};  ///< number of posts that returned false, without those that threw
    std::atomic<int> runs{0};
    std::atomic<int> left{0};             ///< how often it will post itself again
    std::atomic<std::uint64_t> before{0}; ///< ticks before and after its post
    std::atomic<std::uint64_t> after{0};
};

/// The call of the library that the thread is in, and the functions that may run inside it.
struct call_scope {
    enum class type : std::uint8_t {
        plain,    ///< no function
        in_place, ///< only `own`
        helps,    ///< any function
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
    visit(place_slot& where, const record* runs, bool shares = false);
    ~visit();
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    place_slot& place;
    call_scope* const outer_call;
    visit* const below;
    const bool is_shared;   ///< the function shares the lane with other readers
    bool is_nested = false; ///< inside another visit of the same place, which has caused it
};
[[nodiscard]] visit* top_visit() noexcept;
/// Returns whether the thread is inside a function of `place`.
[[nodiscard]] bool is_inside(const place_slot& place) noexcept;
/// Returns whether this thread is in a call of the library that may run other functions.
[[nodiscard]] bool is_helping() noexcept;

/// The callable. It runs the body of its record's action.
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

/// A callable with a result, for futures.
struct valued_call {
    call inner;
    int operator()() const {
        inner();
        return static_cast<int>(inner.of().of->index);
    }
};

/// A callable of another size, so that it lies in other memory.
struct large_call {
    call inner;
    std::array<char, 150> room{};
    void operator()() const { inner(); }
};

/// Checks all accounts after the end of all contexts.
void check_accounts(world& in);

} // namespace seams
