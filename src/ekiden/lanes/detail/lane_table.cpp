#include <ekiden/lanes/detail/lane_table.hpp>

#include <bit>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

void lane_table::insert(lane& fresh) noexcept {
    if (++size_ > buckets_.size()) split();
    fresh.chain = std::exchange(buckets_[bucket_of(fresh.hash)], &fresh);
}

void lane_table::remove(lane& gone) noexcept {
    lane** link = &buckets_[bucket_of(gone.hash)];
    while (*link != &gone) link = &(*link)->chain;
    *link = gone.chain;
    --size_;
    // Merges only if few lanes are left. So a number of lanes that often grows and shrinks causes no merges.
    // One call merges several buckets, so the memory is freed when most lanes have been removed.
    for (int i = 0; i != 8 && size_ * 8 < buckets_.size() && buckets_.size() > fewest_buckets; ++i) merge();
}

/// Adds a bucket. Moves its lanes from the bucket whose number lacks the highest bit.
void lane_table::split() noexcept {
    const std::size_t fresh = buckets_.size();
    try {
        buckets_.push_back(nullptr);
    } catch (const std::bad_alloc&) {
        return; // the chains become longer
    }
    mask_ = std::bit_ceil(buckets_.size()) - 1;
    lane** link = &buckets_[fresh - std::bit_floor(fresh)];
    while (lane* const here = *link) {
        if (bucket_of(here->hash) == fresh) {
            *link = here->chain;
            here->chain = std::exchange(buckets_[fresh], here);
        } else {
            link = &here->chain;
        }
    }
}

/// Removes the last bucket. Its lanes go back to the bucket from which split() took them.
void lane_table::merge() noexcept {
    const std::size_t gone = buckets_.size() - 1;
    lane** link = &buckets_[gone - std::bit_floor(gone)];
    while (*link != nullptr) link = &(*link)->chain;
    *link = buckets_[gone];
    buckets_.pop_back();
    mask_ = std::bit_ceil(gone) - 1;
    if (buckets_.capacity() >= 4 * gone && buckets_.capacity() > 64) buckets_.shrink_to_fit();
}

} // namespace ekiden::inline EKIDEN_ABI
