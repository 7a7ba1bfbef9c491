/// Waits for several buffers, and removes an item from the first buffer that has one.
///
/// Part: async. Used by: programs. No item is lost, because the items of the other buffers stay in these
/// buffers. The page locks.md has the rules of all awaited operations.
#pragma once

#include <ekiden/async/detail/select_wait.hpp>
#include <ekiden/sync/buffer_base.hpp>
#include <ekiden/sync/channel.hpp>
#include <ekiden/sync/detail/lock_access.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

template <class Buffer>
struct buffer_branch : select_branch {
    std::optional<typename Buffer::value_type> item{};
    typename Buffer::pop_step step;

    explicit buffer_branch(Buffer& b) noexcept
        : select_branch(lock_access::core(b), Buffer::may_pop, &take), step(b, item) {}
    buffer_branch(const buffer_branch&) = delete;
    buffer_branch& operator=(const buffer_branch&) = delete;

private:
    static state_value take(void* context, state_value now) noexcept {
        auto& self = static_cast<buffer_branch&>(*static_cast<select_branch*>(context));
        self.has_ended = self.step.finds_nothing();
        return self.has_ended || !self.owner->claim(self.index) ? now : self.step(now);
    }
};

/// A branch whose buffer is a channel. The state of the lock does not show whether there is an item.
template <class T>
struct buffer_branch<channel<T>> : select_branch {
    std::optional<T> item{};
    typename channel<T>::pop_step step;

    explicit buffer_branch(channel<T>& c) noexcept
        : select_branch(lock_access::core(c), channel<T>::may_pop, &take, &try_take), step(c, item) {}
    buffer_branch(const buffer_branch&) = delete;
    buffer_branch& operator=(const buffer_branch&) = delete;

private:
    static bool try_take(select_branch& branch) noexcept {
        auto& self = static_cast<buffer_branch&>(branch);
        const bool is_over = self.step.try_now();
        self.has_ended = is_over && self.step.ended;
        return is_over && !self.has_ended && self.owner->claim(self.index);
    }
    static state_value take(void* context, state_value now) noexcept {
        auto& self = static_cast<buffer_branch&>(*static_cast<select_branch*>(context));
        select_wait& owner = *self.owner;
        if (!owner.reserve()) return now;
        const state_value next = self.step(now);
        self.has_ended = self.step.ended;
        if ((next.state & state_value::refused) != 0 || self.has_ended)
            owner.cancel();
        else
            owner.confirm(self.index);
        return next;
    }
};

template <class... Buffers>
class [[nodiscard("an operation begins when it is awaited")]] select_awaiter final : private select_wait {
    static constexpr auto count = static_cast<std::uint32_t>(sizeof...(Buffers));
    using branch_array = std::array<select_branch*, count>;

public:
    using select_wait::comes_home;
    using result = popped<std::variant<typename Buffers::value_type...>>;

    explicit select_awaiter(select_priority* order, Buffers&... buffers) noexcept
        : order_(order), branches_(buffers...),
          all_(std::apply([](auto&... b) { return branch_array{&b...}; }, branches_)) {
        for (std::uint32_t i = 0; i < count; ++i) {
            all_[i]->owner = this;
            all_[i]->index = i;
        }
    }
    ~select_awaiter() { end(); }

    [[nodiscard]] static constexpr bool await_ready() noexcept { return false; }

    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        if (!begin(coroutine)) [[unlikely]]
            return true;
        const std::uint32_t first = order_ != nullptr ? order_->next(count) : rotated(count);
        if (!try_now(all_, first) && wait(all_, first)) return true;
        return go_on(coroutine);
    }

    [[nodiscard]] result await_resume() {
        const std::uint32_t winner = collect();
        return result::from([&](auto& got) {
            if (winner == all_ended) return queue_status::closed;
            if (winner == by_stop)
                return why_stopped() == wait_result::timed_out ? queue_status::timed_out
                                                               : queue_status::stopped;
            take_from(winner, got, std::index_sequence_for<Buffers...>());
            return queue_status::done;
        });
    }

private:
    template <class Variant, std::size_t... Index>
    void take_from(std::uint32_t winner, std::optional<Variant>& got, std::index_sequence<Index...>) {
        ((winner == Index ? take<Index>(got) : void()), ...);
    }
    template <std::size_t Index, class Variant>
    void take(std::optional<Variant>& got) {
        auto& one = std::get<Index>(branches_);
        (void)one.step.outcome(); // rethrows
        got.emplace(std::in_place_index<Index>, std::move(*one.item));
    }

    select_priority* order_;
    std::tuple<buffer_branch<Buffers>...> branches_;
    branch_array all_;
};

} // namespace detail

/// `const auto got = co_await select(a, b)`: waits until one of the buffers has an item, and removes this
/// item. Returns a `popped` result with a std::variant of the item types. The index() of the variant tells
/// which buffer had the item. If all buffers are closed and empty, the result is empty and has the status
/// `closed`. If a stop or the deadline of the coroutine has ended the wait, the result is empty and has the
/// status `stopped` or `timed_out`. Skips buffers that are closed and empty. Each call checks a different
/// buffer first, so that no buffer is preferred. Throws what the move constructor of the item throws.
///
/// If the coroutine has received an item, but is destroyed before it resumes, the item is destroyed, too.
template <class... Buffers>
    requires(sizeof...(Buffers) > 0) && (requires { typename Buffers::pop_step; } && ...)
[[nodiscard]] auto select(Buffers&... buffers) noexcept {
    return detail::select_awaiter<Buffers...>(nullptr, buffers...);
}
/// Removes an item like select(buffers...), but checks the buffers in the order of the arguments. After the
/// number of calls that `order` sets, one call checks another buffer first, so that no buffer starves.
template <class... Buffers>
    requires(sizeof...(Buffers) > 0) && (requires { typename Buffers::pop_step; } && ...)
[[nodiscard]] auto select(select_priority& order, Buffers&... buffers) noexcept {
    return detail::select_awaiter<Buffers...>(&order, buffers...);
}

} // namespace ekiden::inline EKIDEN_ABI
