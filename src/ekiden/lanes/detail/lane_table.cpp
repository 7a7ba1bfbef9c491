#include <ekiden/lanes/detail/lane_table.hpp>

#include <bit>
#include <new>
#include <stdexcept>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- entries

lane::index lane_table::allocate() {
    if (open_.empty()) add_chunk();
    // Before the entry is there: then insert() needs no memory.
    if (buckets_.empty()) {
        buckets_.assign(fewest_buckets, lane::none);
        mask_ = fewest_buckets - 1;
    }
    const std::size_t number = open_.back();
    chunk& here = chunks_[number];
    const lane::index found = here.first_free;
    here.first_free = at(found).chain;
    if (++here.used == chunk_size) close(number);
    return std::construct_at(&at(found)), found;
}

void lane_table::give_back(lane::index unused) noexcept {
    const std::size_t number = unused / chunk_size;
    chunk& here = chunks_[number];
    at(unused).chain = here.first_free;
    here.first_free = unused;
    if (here.used-- == chunk_size) open(number);
    // One chunk without a lane is kept, for the next one.
    if (here.used == 0 && open_.size() > 1) {
        close(number);
        here.entries.reset();
        free_numbers_.push_back(number);
    }
}

void lane_table::add_chunk() {
    const bool is_new = free_numbers_.empty();
    const std::size_t number = is_new ? chunks_.size() : free_numbers_.back();
    if (number >= lane::none / chunk_size) throw std::bad_alloc();
    auto entries = std::make_unique_for_overwrite<std::byte[]>(chunk_size * entry_bytes_);
    if (is_new) {
        open_.reserve(std::bit_ceil(number + 1));
        free_numbers_.reserve(std::bit_ceil(number + 1));
        chunks_.emplace_back();
    } else {
        free_numbers_.pop_back();
    }
    chunk& fresh = chunks_[number];
    fresh.entries = std::move(entries);
    fresh.used = 0;
    const auto first = static_cast<lane::index>(number) * chunk_size;
    for (lane::index i = 0; i != chunk_size; ++i) {
        lane* const here = ::new (static_cast<void*>(fresh.entries.get() + i * entry_bytes_)) lane;
        here->chain = i + 1 == chunk_size ? lane::none : first + i + 1;
    }
    fresh.first_free = first;
    open(number);
}

void lane_table::open(std::size_t number) noexcept {
    chunks_[number].place = open_.size();
    open_.push_back(number);
}

void lane_table::close(std::size_t number) noexcept {
    const std::size_t place = chunks_[number].place;
    open_[place] = open_.back();
    chunks_[open_[place]].place = place;
    open_.pop_back();
}

// ---- buckets

/// With n buckets: the lowest bits of the hash that number them, or one bit less for those not split yet.
std::size_t lane_table::bucket_of(std::uint32_t used) const noexcept {
    const std::size_t bucket = used & mask_;
    return bucket < buckets_.size() ? bucket : bucket & (mask_ >> 1);
}

void lane_table::insert(lane::index fresh, std::uint64_t hash) noexcept {
    if (++size_ > buckets_.size() && buckets_.size() != most_buckets) split();
    lane& here = at(fresh);
    here.flags = lane::used_of(hash) << lane::flag_bits;
    here.chain = std::exchange(buckets_[bucket_of(here.hash())], fresh);
}

void lane_table::remove(lane::index gone) noexcept {
    lane::index* link = &buckets_[bucket_of(at(gone).hash())];
    while (*link != gone) link = &at(*link).chain;
    *link = at(gone).chain;
    --size_;
    // Late, so that a number of lanes that goes up and down costs nothing; and then several, so that the
    // buckets are gone when the entries are.
    for (int i = 0; i != 8 && size_ * 8 < buckets_.size() && buckets_.size() > fewest_buckets; ++i) merge();
}

/// One more bucket, whose entries were in the one with one bit less.
void lane_table::split() noexcept {
    const std::size_t fresh = buckets_.size();
    try {
        buckets_.push_back(lane::none);
    } catch (const std::bad_alloc&) { // then the chains become longer
        return;
    }
    mask_ = std::bit_ceil(buckets_.size()) - 1;
    lane::index* link = &buckets_[fresh - std::bit_floor(fresh)];
    while (*link != lane::none) {
        const lane::index i = *link;
        lane& here = at(i);
        if (bucket_of(here.hash()) == fresh) {
            *link = here.chain;
            here.chain = std::exchange(buckets_[fresh], i);
        } else {
            link = &here.chain;
        }
    }
}

/// One bucket less: the opposite.
void lane_table::merge() noexcept {
    const std::size_t gone = buckets_.size() - 1;
    lane::index* link = &buckets_[gone - std::bit_floor(gone)];
    while (*link != lane::none) link = &at(*link).chain;
    *link = buckets_[gone];
    buckets_.pop_back();
    mask_ = std::bit_ceil(gone) - 1;
    if (buckets_.capacity() >= 4 * gone && buckets_.capacity() > 64) buckets_.shrink_to_fit();
}

std::size_t lane_table::footprint() const noexcept {
    const std::size_t chunks = chunks_.size() - free_numbers_.size();
    return chunks * chunk_size * entry_bytes_ + chunks_.capacity() * sizeof(chunk)
           + buckets_.capacity() * sizeof(lane::index)
           + (open_.capacity() + free_numbers_.capacity()) * sizeof(std::size_t);
}

} // namespace ekiden::inline EKIDEN_ABI
