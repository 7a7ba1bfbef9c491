/// Requests with several keys. A request has one claim for each of its keys.
///
/// Part: lanes. Used by: lanes_state, and lanes. The page execution/detail/strand.md explains the protocol.
///
/// Modeled on the behaviours of Cheeseman et al., "When Concurrency Matters: Behaviour-Oriented Concurrency"
/// (2023). In that design, a behaviour also waits in one queue for each of its objects. Here, the queues are
/// the lanes, and a request may share a lane with other requests that only read.
#pragma once

#include <ekiden/lanes/detail/lane.hpp>
#include <ekiden/lanes/detail/turn_record.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

struct lane_request;

/// A list that allocates no memory for up to four elements.
template <class T>
class short_list {
public:
    /// Throws std::bad_alloc. A call that throws has no effect.
    void push(const T& last) {
        if (size_ < few_.size()) {
            few_[size_] = last;
        } else {
            if (many_.empty()) many_.assign(few_.begin(), few_.end());
            many_.push_back(last);
        }
        ++size_;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T* begin() noexcept { return size_ > few_.size() ? many_.data() : few_.data(); }
    [[nodiscard]] T* end() noexcept { return begin() + size_; }
    [[nodiscard]] T& back() noexcept { return end()[-1]; }

private:
    std::array<T, 4> few_{};
    std::vector<T> many_; // contains all elements if there are more than four
    std::size_t size_ = 0;
};

/// A key in the list of keys of a request.
template <class Key>
struct listed_key {
    const Key* key = nullptr;
    std::uint64_t hash = 0; ///< undefined if `where` is not null
    lane_shard* shard = nullptr;
    lane* where = nullptr;  ///< the lane of a handle, or null
    bool is_shared = false; ///< true if the request only reads

    [[nodiscard]] bool has_key_of(const listed_key& other) const {
        if (where != nullptr && other.where != nullptr) return where == other.where;
        const bool may_be = where != nullptr || other.where != nullptr || hash == other.hash;
        return may_be && *key == *other.key;
    }
};

/// The place of a request in the lane of one of its keys. While a claim waits, it is an element of the lane's
/// queue, like a task. A claim is never run. The lane *grants* the claim instead: the request then has the
/// lane until it ends. A derived class adds the key.
struct lane_claim : keyed_task {
    /// `known` is the lane of a handle, or null.
    lane_claim(std::uint64_t mixed, lane* known, lane_request& of, lane_shard& in, bool reads) noexcept
        : keyed_task(&answer, mixed, known != nullptr), request(&of), shard(&in), where(known),
          is_shared(reads) {}

    /// Marks the request as canceled. Called under the lock of the shard, by the thread that has removed the
    /// claim from its queue. This thread calls abandon() later, without the lock. Returns whether the request
    /// was not canceled before.
    bool cancel() noexcept;

    /// Called like cancel() for a task that is removed from a queue and abandoned later. Returns whether the
    /// function of this task was not abandoned before, by another claim of its request.
    [[nodiscard]] static bool cancel(task& removed) noexcept {
        lane_claim* const claim = of(removed);
        return claim == nullptr || claim->cancel();
    }

    /// Returns whether a task is a claim that was withdrawn. Called under the lock of the shard.
    [[nodiscard]] static bool is_withdrawn(const task& queued) noexcept {
        const lane_claim* const claim = of(queued);
        return claim != nullptr && claim->has_withdrawn;
    }

    /// Returns the claim if `queued` is a claim, and otherwise null.
    [[nodiscard]] static lane_claim* of(task& queued) noexcept {
        return queued.type() == &answer ? static_cast<lane_claim*>(&queued) : nullptr;
    }
    [[nodiscard]] static const lane_claim* of(const task& queued) noexcept {
        return queued.type() == &answer ? static_cast<const lane_claim*>(&queued) : nullptr;
    }

    /// Returns whether this claim is the first of its request.
    [[nodiscard]] bool is_first() const noexcept;

    lane_request* const request;
    lane_shard* const shard;
    /// The lane whose queue contains the claim, or which the request has. Otherwise null, unless `has_lane`
    /// is set.
    lane* where;
    const bool is_shared;
    bool is_granted = false;    ///< true while the request has the lane
    bool has_withdrawn = false; ///< true if the claim must not be granted; see lanes_state::withdraw()
    bool has_canceled = false;  ///< true if cancel() has returned true

private:
    static const char* answer(task* self, task_request asked);
};

/// Returns whether lanes_state::close() leaves a task in its lane.
[[nodiscard]] inline bool stays_at_close(const task& queued) noexcept {
    if (lane_claim::of(queued) != nullptr || static_cast<const keyed_task&>(queued).has_lane == 0)
        return false;
    return static_cast<const lane_task&>(queued).stays_at_close();
}

/// A function with several keys, or a turn of a coroutine. A request is *ready* when all its claims were
/// granted.
struct lane_request : runnable {
    lane_request(std::uint32_t count, bool of_turn, std::size_t offset, std::size_t size) noexcept
        : runnable(true), is_turn(of_turn), claims(count), pending(count),
          claim_offset(static_cast<std::uint32_t>(offset)), claim_size(static_cast<std::uint32_t>(size)) {}
    lane_request(const lane_request&) = delete;
    lane_request& operator=(const lane_request&) = delete;

    /// Returns claim number `n`. The claims are sorted by the addresses of their shards.
    [[nodiscard]] lane_claim& claim(std::uint32_t n) noexcept {
        auto* const at = reinterpret_cast<std::byte*>(this) + claim_offset + std::size_t{n} * claim_size;
        return *std::launder(reinterpret_cast<lane_claim*>(at));
    }
    /// Calls the function, and destroys it. Returns whether the request keeps its lanes. If the result is
    /// true, another thread releases the lanes later, by lanes_state::end_turn().
    [[nodiscard]] virtual bool run() = 0;
    /// Destroys the function. Has no effect if it has been destroyed already.
    virtual void drop() noexcept = 0;
    /// Frees the request with its claims. The request of a turn has several owners. Each of them calls end(),
    /// and the last call frees the request.
    virtual void end() noexcept = 0;

    [[nodiscard]] bool has(const task* wanted) noexcept {
        for (std::uint32_t n = 0; n != claims; ++n)
            if (&claim(n) == wanted) return true;
        return false;
    }

    const bool is_turn; ///< true if run() does not call a function, but lets a coroutine continue
    const std::uint32_t claims;
    /// The number of claims that are neither granted nor abandoned, plus 1 during a withdrawal.
    sys::atomic<std::uint32_t> pending;
    std::uint32_t when = 0;         ///< like keyed_task::when
    sys::cell<bool> has_run{false}; ///< true if the function has been called or is about to be called
    bool is_lost = false; ///< true if a lane was closed or the turn withdrawn, after the request was ready
    /// True if the function must not be called. Only a thread that has removed a claim or the request from a
    /// queue sets this member, and it must then abandon the claim, or end the request.
    sys::atomic<bool> is_canceled{false};
    // The places of the claims behind the request.
    const std::uint32_t claim_offset;
    const std::uint32_t claim_size;

protected:
    ~lane_request() = default;
};

inline bool lane_claim::cancel() noexcept {
    where = nullptr;
    // Relaxed is enough, because the thread that ends the request sees this store through `pending`.
    has_canceled = !request->is_canceled.exchange(true, sys::relaxed);
    return has_canceled;
}

inline bool lane_claim::is_first() const noexcept { return &request->claim(0) == this; }

template <class Key>
struct lane_claim_of final : lane_claim {
    lane_claim_of(const listed_key<Key>& of, lane_request& by)
        : lane_claim(of.hash, of.where, by, *of.shard, of.is_shared) {
        if (has_lane == 0) std::construct_at(&key, *of.key);
    }
    ~lane_claim_of() {
        if (has_lane == 0) std::destroy_at(&key);
    }
    lane_claim_of(const lane_claim_of&) = delete;
    lane_claim_of& operator=(const lane_claim_of&) = delete;

    union {
        Key key; ///< exists if the lane is not known
    };
};

/// A request whose function has the type `F`, or the request of a turn, if `F` is turn_record. The claims are
/// in the same block of memory.
template <class Key, class F>
class lane_request_of final : public lane_request {
    static constexpr bool of_turn = std::is_same_v<F, turn_record>;

public:
    /// Throws std::bad_alloc, and whatever the copy constructors throw.
    template <class G>
    [[nodiscard]] static lane_request_of& make(std::span<const listed_key<Key>> keys, G&& f) {
        const std::size_t bytes = offset() + keys.size() * sizeof(claim_type);
        void* const memory = is_recycled(bytes) ? recycler::allocate(recycler::size_class(bytes))
                                                : ::operator new(bytes, alignment());
        try {
            auto& made = *::new (memory) lane_request_of(keys, std::forward<G>(f));
            if constexpr (of_turn) made.f_->belongs_to(made);
            return made;
        } catch (...) {
            free(memory, bytes);
            throw;
        }
    }

    /// Returns the record of a turn.
    [[nodiscard]] F& record() noexcept { return *f_; }

    [[nodiscard]] bool run() override {
        if constexpr (of_turn) {
            return f_->begin();
        } else {
            struct at_end {
                std::optional<F>& f;
                ~at_end() { f.reset(); }
            } const guard{f_};
            static_cast<void>((*f_)());
            return false;
        }
    }
    void drop() noexcept override {
        if constexpr (of_turn)
            f_->drop();
        else
            f_.reset();
    }
    void end() noexcept override {
        if constexpr (of_turn)
            if (!f_->is_last_owner()) return;
        const std::size_t bytes = offset() + claims * sizeof(claim_type);
        for (std::uint32_t n = 0; n != claims; ++n) std::destroy_at(std::launder(place(n)));
        this->~lane_request_of();
        free(this, bytes);
    }

private:
    using claim_type = lane_claim_of<Key>;

    template <class G>
    lane_request_of(std::span<const listed_key<Key>> keys, G&& f)
        : lane_request(static_cast<std::uint32_t>(keys.size()), of_turn, offset(), sizeof(claim_type)),
          f_(std::in_place, std::forward<G>(f)) {
        std::uint32_t made = 0;
        try {
            for (; made != claims; ++made)
                ::new (static_cast<void*>(place(made))) claim_type(keys[made], *this);
        } catch (...) {
            while (made != 0) std::destroy_at(std::launder(place(--made)));
            throw;
        }
    }
    ~lane_request_of() = default;

    static constexpr std::size_t offset() noexcept {
        constexpr std::size_t align = alignof(claim_type);
        return (sizeof(lane_request_of) + align - 1) / align * align;
    }
    [[nodiscard]] claim_type* place(std::uint32_t n) noexcept {
        return reinterpret_cast<claim_type*>(reinterpret_cast<std::byte*>(this) + offset()) + n;
    }
    static constexpr std::align_val_t alignment() noexcept {
        return std::align_val_t{std::max(alignof(lane_request_of), alignof(claim_type))};
    }
    static constexpr bool is_recycled(std::size_t bytes) noexcept {
        return bytes <= recycler::max_frame && alignment() <= std::align_val_t{64};
    }
    static void free(void* memory, std::size_t bytes) noexcept {
        if (is_recycled(bytes))
            recycler::deallocate(memory, recycler::size_class(bytes));
        else
            ::operator delete(memory, bytes, alignment());
    }

    std::optional<F> f_;
};

} // namespace ekiden::inline EKIDEN_ABI
