/// The outcome of a push or a pop, the same for every queue of the library.
///
/// Part: sync. Used by: users, through the queues.
#pragma once

#include <ekiden/sys/config.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The outcome of a push or a pop.
enum class queue_status : std::uint8_t {
    done,
    would_wait, ///< try_ forms only: the queue is full, or empty
    timed_out,  ///< the deadline of the limit has passed
    stopped,    ///< a stop was requested
    closed      ///< push: the queue is closed; pop: the queue is closed and empty
};

/// The result of a pop: an optional item, and a status that says why there is no item.
///
/// The status is queue_status::done exactly if the pop has returned an item.
template <class T>
class [[nodiscard]] popped : public std::optional<T> {
public:
    /// Constructs an empty result. `status` says why there is no item.
    constexpr explicit popped(queue_status status) noexcept : status_(status) {}
    /// Constructs a result with an item, made of `args`, and the status done.
    template <class... Args>
    constexpr explicit popped(std::in_place_t, Args&&... args)
        : std::optional<T>(std::in_place, std::forward<Args>(args)...) {}

    /// Returns whether there is an item.
    constexpr explicit operator bool() const& noexcept { return this->has_value(); }
    /// Deleted for `bool`, because `std::optional<bool> item(buffer.pop())` would call it instead of taking
    /// the item.
    constexpr explicit operator bool() const&&
        requires std::same_as<std::remove_cv_t<T>, bool>
    = delete;
    /// Returns the outcome of the pop.
    [[nodiscard]] constexpr queue_status status() const noexcept { return status_; }

    /// Runs `pop(std::optional<T>&)`, which fills an empty result and returns the status. Returns the result.
    /// It is for queues: the item is constructed in its final place.
    template <class Pop>
    [[nodiscard]] static popped from(Pop&& pop) {
        popped result(queue_status::closed);
        result.status_ = std::forward<Pop>(pop)(static_cast<std::optional<T>&>(result));
        return result;
    }

private:
    queue_status status_ = queue_status::done;
};

} // namespace ekiden::inline EKIDEN_ABI
