/// The pieces of a parallel scan, and the sums that their threads pass on.
///
/// Part: fork. Used by: parallel_scan. Private.
///
/// The range consists of chunks. A chunk can be scanned once the sum of all elements before it is known. One
/// thread after the other has the *baton*, which is this sum for the first chunk that has none yet. A thread
/// that takes the baton scans the next chunks at once. Each other thread adds up the elements of later chunks
/// meanwhile. So the baton skips this chunk, and the thread scans the chunk while it is still in the cache.
/// With one thread, each element is read once. The idea to pass sums from chunk to chunk is that of Merrill
/// and Garland ("Single-pass parallel prefix scan with decoupled look-back", 2016). Unlike there, no thread
/// waits for a sum. It adds up another chunk instead.
#pragma once

#include <ekiden/sys/lock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::detail {

/// `Scan` has two functions. `scan(before, first, last)` writes the results of the elements [first, last),
/// and returns the sum of `before` and these elements. `before` is an optional sum, which is empty if there
/// is nothing before the elements. `sum(first, last)` returns the sum of the elements. `Combine` is the
/// operation.
///
/// Thread safety: all threads of the loop call take() and run(). Each thread has a `hand` of its own.
template <class T, class Scan, class Combine>
class scan_pieces {
public:
    enum class step : std::uint8_t {
        scan_next, ///< scan the chunks behind the baton; the thread has the baton
        add_up,    ///< add up the elements of a chunk
        scan       ///< scan a chunk whose sum has been added up
    };
    struct piece {
        step what;
        std::size_t chunk;
        std::size_t first;
        std::size_t last;
        /// Returns the number of elements whose results the piece writes.
        [[nodiscard]] std::size_t size() const noexcept { return what == step::add_up ? 0 : last - first; }
    };
    /// The chunks that the thread has added up, in order. They are in its cache.
    struct hand {
        std::size_t added[2] = {none, none};
    };

    /// `before` is the sum before the first element, or empty. Throws std::bad_alloc.
    scan_pieces(Scan& scan, Combine& combine, std::optional<T> before, std::size_t total, std::size_t chunk)
        : scan_(scan), combine_(combine), total_(total), chunk_(chunk), chunks_((total + chunk - 1) / chunk),
          baton_(std::move(before)) {}

    /// Returns what the thread should do next.
    [[nodiscard]] std::optional<piece> take(hand& mine, std::size_t size) {
        std::unique_lock guard(lock_);
        if (is_baton_free_ && baton_at_ != next_) pass_baton(guard);
        for (std::size_t& own : mine.added) {
            if (own != none && chunks_[own].stage == chunk_stage::ready)
                return scan_chunk(std::exchange(own, none));
        }
        const std::size_t left = chunks_.size() - next_;
        if (left != 0 && is_baton_free_ && baton_at_ == next_) {
            // Several chunks, so that another thread can add up whole chunks meanwhile.
            const std::size_t count =
                std::min(std::max(size / chunk_, at_once), std::max<std::size_t>(left / 4, 1));
            const std::size_t first = next_;
            is_baton_free_ = false;
            baton_at_ = next_ += count;
            return piece{step::scan_next, first, first * chunk_, end_of(next_ - 1)};
        }
        if (const std::size_t ready = find_ready(); ready != none) return scan_chunk(ready);
        if (left != 0) {
            const std::size_t chunk = next_++;
            mine.added[0] = std::exchange(mine.added[1], chunk);
            return piece{step::add_up, chunk, chunk * chunk_, end_of(chunk)};
        }
        return std::nullopt; // the other threads run all pieces that are left
    }

    void run(hand&, const piece& p) {
        entry& here = chunks_[p.chunk];
        if (p.what == step::scan_next) {
            T sum = scan_.scan(std::move(baton_), p.first, p.last);
            const std::lock_guard guard(lock_);
            for (std::size_t c = p.chunk; c * chunk_ < p.last; ++c) chunks_[c].stage = chunk_stage::taken;
            baton_.emplace(std::move(sum));
            is_baton_free_ = true;
        } else if (p.what == step::add_up) {
            here.sum.emplace(scan_.sum(p.first, p.last));
            const std::lock_guard guard(lock_);
            here.stage = chunk_stage::added_up;
        } else {
            (void)scan_.scan(std::move(here.before), p.first, p.last);
        }
    }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    static constexpr std::size_t at_once = 4;

    enum class chunk_stage : std::uint8_t {
        unknown,  // no thread has added up the elements
        added_up, // `sum` is known
        ready,    // `before` is known
        taken     // a thread scans the chunk, or has scanned it
    };
    struct entry {
        std::optional<T> sum;
        std::optional<T> before;
        chunk_stage stage = chunk_stage::unknown; // under lock_
    };

    [[nodiscard]] std::size_t end_of(std::size_t chunk) const noexcept {
        return std::min((chunk + 1) * chunk_, total_);
    }

    /// Returns the first chunk that is ready, or `none`.
    [[nodiscard]] std::size_t find_ready() noexcept {
        while (first_unscanned_ != baton_at_ && chunks_[first_unscanned_].stage == chunk_stage::taken)
            ++first_unscanned_;
        for (std::size_t c = first_unscanned_; c != baton_at_; ++c) {
            if (chunks_[c].stage == chunk_stage::ready) return c;
        }
        return none;
    }

    [[nodiscard]] piece scan_chunk(std::size_t chunk) noexcept {
        chunks_[chunk].stage = chunk_stage::taken;
        return piece{step::scan, chunk, chunk * chunk_, end_of(chunk)};
    }

    /// Moves the baton over all chunks that have been added up. Releases the lock while the user's operation
    /// runs.
    void pass_baton(std::unique_lock<sys::slow_lock>& guard) {
        is_baton_free_ = false;
        while (baton_at_ != next_ && chunks_[baton_at_].stage == chunk_stage::added_up) {
            entry& here = chunks_[baton_at_];
            guard.unlock();
            here.before = baton_;
            baton_.emplace(std::invoke(combine_, *std::move(baton_), *std::move(here.sum)));
            guard.lock();
            here.stage = chunk_stage::ready;
            ++baton_at_;
        }
        is_baton_free_ = true;
    }

    Scan& scan_;
    Combine& combine_;
    const std::size_t total_;
    const std::size_t chunk_; // number of elements of each chunk except the last
    sys::slow_lock lock_;
    std::vector<entry> chunks_;
    std::size_t next_ = 0;            // under lock_: the first chunk that no thread has taken
    std::size_t baton_at_ = 0;        // under lock_: the chunk that follows the sum in baton_
    std::size_t first_unscanned_ = 0; // under lock_: all chunks before it are taken
    bool is_baton_free_ = true;       // under lock_: false while a thread uses baton_
    std::optional<T> baton_;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
