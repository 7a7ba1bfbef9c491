#include <check/engine/arena.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace ekiden::check {

bump::bump(std::size_t capacity) : capacity_(capacity) {
    void* memory =
        ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(memory);
}

bump::~bump() { ::munmap(base_, capacity_); }

void* bump::allocate(std::size_t size, std::size_t alignment) noexcept {
    const std::size_t start = (used_ + alignment - 1) & ~(alignment - 1);
    if (size > capacity_ || start > capacity_ - size) return nullptr;
    used_ = start + size;
    return base_ + start;
}

tracked_heap::tracked_heap(std::size_t capacity) : memory_(capacity), freed_(capacity / granule / 64 + 1) {
    blocks_.reserve(4096);
}

void tracked_heap::reset() noexcept {
    memory_.reset();
    blocks_.clear();
    std::memset(freed_.data(), 0, (highest_ / 64 + 1) * sizeof freed_[0]);
    highest_ = 0;
    live_ = 0;
}

void* tracked_heap::allocate(std::size_t size, std::size_t alignment, unsigned thread) noexcept {
    // A block has its own granules, so that the bits of a freed neighbor never cover it.
    alignment = std::max(alignment, granule);
    const std::size_t whole = (std::max<std::size_t>(size, 1) + granule - 1) / granule * granule;
    void* const at = memory_.allocate(whole, alignment);
    if (at == nullptr) return nullptr;
    blocks_.push_back({static_cast<char*>(at), whole, static_cast<std::uint32_t>(blocks_.size() + 1),
                       static_cast<std::uint8_t>(thread), true, false});
    ++live_;
    return at;
}

const tracked_heap::block* tracked_heap::find(const void* at) const noexcept {
    auto next = std::upper_bound(blocks_.begin(), blocks_.end(), static_cast<const char*>(at),
                                 [](const char* value, const block& b) { return value < b.start; });
    if (next == blocks_.begin()) return nullptr;
    --next;
    return static_cast<const char*>(at) < next->start + next->size ? &*next : nullptr;
}

bool tracked_heap::release(void* at) noexcept {
    auto* found = const_cast<block*>(find(at));
    if (found == nullptr || found->start != at || !found->live) return false;
    found->live = false;
    --live_;
    std::memset(found->start, 0xDD, found->size);
    const std::size_t first = memory_.offset(found->start) / granule;
    const std::size_t last = first + found->size / granule;
    for (std::size_t unit = first; unit < last; ++unit) freed_[unit / 64] |= std::uint64_t{1} << (unit % 64);
    highest_ = std::max(highest_, last);
    return true;
}

bool tracked_heap::mark(const block& b) noexcept {
    auto& mine = const_cast<block&>(b);
    if (!mine.live || mine.marked) return false;
    return mine.marked = true;
}

const tracked_heap::block* tracked_heap::first_unmarked() const noexcept {
    const auto found =
        std::find_if(blocks_.begin(), blocks_.end(), [](const block& b) { return b.live && !b.marked; });
    return found == blocks_.end() ? nullptr : &*found;
}

} // namespace ekiden::check
