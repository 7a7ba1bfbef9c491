/// A place for one item in a lock-free queue.
///
/// Part: sync. Used by: slot_ring, segment_queue.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The outcome of an attempt to push or pop.
enum class taken_from : std::uint8_t {
    done,
    none,  ///< the queue is full or empty
    closed ///< a push found the queue closed, or a pop found the queue closed and empty
};

/// A place for one item. One thread at a time may use a slot, and the queue chooses this thread.
///
/// A push owns its slot before it constructs the item, and cannot return the slot. So if the constructor
/// throws, the push marks the slot as skipped, and publishes it. A pop frees a skipped slot and continues.
template <class T>
class queue_slot {
public:
    static constexpr bool is_nothrow = std::is_nothrow_move_constructible_v<T>;

    queue_slot() noexcept {}
    queue_slot(const queue_slot&) = delete;
    queue_slot& operator=(const queue_slot&) = delete;
    ~queue_slot() {}

    /// Moves `item` into the slot, and then calls `publish()`.
    template <class Publish>
    void fill(T& item, const Publish& publish) noexcept(is_nothrow) {
        if constexpr (is_nothrow) {
            std::construct_at(std::addressof(item_), std::move(item));
        } else {
            try {
                std::construct_at(std::addressof(item_), std::move(item));
                skipped_.is = false;
            } catch (...) {
                skipped_.is = true;
                publish();
                throw;
            }
        }
        publish();
    }

    /// Moves the item out of the slot, and then calls `free()`. Returns false if the slot was skipped. If the
    /// constructor of T throws, destroys the item.
    template <class Free>
    [[nodiscard]] bool empty_into(std::optional<T>& to, const Free& free) noexcept(is_nothrow) {
        if constexpr (is_nothrow) {
            to.emplace(std::move(item_));
            std::destroy_at(std::addressof(item_));
            free();
            return true;
        } else {
            const bool is_skipped = skipped_.is;
            if (!is_skipped) {
                try {
                    to.emplace(std::move(item_));
                } catch (...) {
                    std::destroy_at(std::addressof(item_));
                    free();
                    throw;
                }
                std::destroy_at(std::addressof(item_));
            }
            free();
            return !is_skipped;
        }
    }

    /// Destroys the item of a filled slot.
    void drop() noexcept {
        if constexpr (!is_nothrow) {
            if (skipped_.is) return;
        }
        std::destroy_at(std::addressof(item_));
    }

private:
    struct never_skipped {};
    struct may_be_skipped {
        bool is = false;
    };

    union {
        T item_;
    };
    [[no_unique_address]] std::conditional_t<is_nothrow, never_skipped, may_be_skipped> skipped_;
};

} // namespace ekiden::inline EKIDEN_ABI
