#include <computed/engine/heap.hpp>

#include <computed/engine/engine.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace ekiden::computed {
namespace heap {
namespace {

constexpr std::size_t page = std::size_t{1} << 16;
constexpr std::size_t pages = arena::heap_size / page;
constexpr std::size_t classes = 96; // 0 to 63: multiples of 16 bytes; from 64 on: powers of two
constexpr std::size_t large = classes - 1;

struct free_block {
    free_block* next;
};
struct lists {
    std::array<free_block*, classes> free{};
    std::array<char*, classes> unused{}; // the rest of the newest page
};

struct all {
    std::array<std::uint8_t, pages> class_of{};
    std::array<std::uint32_t, pages> length{}; // pages of a large block
    std::array<std::uint16_t, pages> owner{};  // the thread that has called new
    std::size_t used = 0;                      // pages
    std::vector<lists> of_thread{arena::most_threads};
};
all* memory = nullptr;

std::size_t size_of(std::size_t size_class) noexcept {
    return size_class < 64 ? (size_class + 1) * 16 : std::size_t{1024} << (size_class - 63);
}

std::size_t class_for(std::size_t size, std::size_t alignment) noexcept {
    size = std::max<std::size_t>(size, 1);
    if (alignment > 16) size = std::bit_ceil(std::max(size, alignment));
    if (size <= 1024) return (size + 15) / 16 - 1;
    const auto power = static_cast<std::size_t>(std::bit_width(size - 1));
    return power <= 15 ? 63 + power - 10 : large;
}

char* new_pages(std::size_t count, std::size_t size_class) {
    if (memory->used + count > pages) {
        std::fputs("ekiden: computed machine: the arena is full\n", stderr);
        std::abort();
    }
    char* const at = reinterpret_cast<char*>(arena::base) + memory->used * page;
    std::fill_n(memory->class_of.begin() + static_cast<std::ptrdiff_t>(memory->used), count,
                static_cast<std::uint8_t>(size_class));
    memory->length[memory->used] = static_cast<std::uint32_t>(count);
    memory->used += count;
    return at;
}

} // namespace

void prepare() {
    void* const wanted = reinterpret_cast<void*>(arena::base);
    void* const got = ::mmap(wanted, arena::size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != wanted) {
        std::fputs("ekiden: computed machine: the addresses of the arena are in use\n", stderr);
        std::abort();
    }
    memory = new all;
}

void* allocate(std::size_t size, std::size_t alignment, unsigned thread) {
    const std::size_t size_class = class_for(size, alignment);
    if (size_class == large) return new_pages((size + page - 1) / page, large); // aligned to a page
    lists& mine = memory->of_thread[thread];
    if (free_block* const old = mine.free[size_class]) {
        mine.free[size_class] = old->next;
        return old;
    }
    const std::size_t length = size_of(size_class);
    char*& unused = mine.unused[size_class];
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(unused) % page;
    if (unused == nullptr || offset + length > page || offset == 0) {
        unused = new_pages(1, size_class);
        memory->owner[memory->used - 1] = static_cast<std::uint16_t>(thread);
    }
    char* const made = unused;
    unused += length;
    return made;
}

void release(void* at) noexcept {
    const std::size_t number = (reinterpret_cast<std::uintptr_t>(at) - arena::base) / page;
    const std::size_t size_class = memory->class_of[number];
    if (size_class == large) return; // large blocks are not reused
    lists& owner = memory->of_thread[memory->owner[number]];
    owner.free[size_class] = ::new (at) free_block{owner.free[size_class]};
}

bool is_of(const void* at, unsigned thread) noexcept {
    return memory->owner[(reinterpret_cast<std::uintptr_t>(at) - arena::base) / page] == thread;
}

} // namespace heap

namespace {

void* make(std::size_t size, std::size_t alignment) {
    if (running == nullptr) {
        void* const at = alignment <= 16
                             ? std::malloc(size)
                             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
        if (at == nullptr) throw std::bad_alloc();
        return at;
    }
    const inside in;
    in.it.spend(in.it.table().allocate);
    void* const at = heap::allocate(size, alignment, in.it.current());
    in.it.plain(at, true);
    return at;
}

void drop(void* at) noexcept {
    if (at == nullptr) return;
    if (!arena::contains(at)) return std::free(at);
    if (running == nullptr) return; // after the run, the arena is dropped as a whole
    const inside in;
    const machine& costs = in.it.table();
    in.it.spend(heap::is_of(at, in.it.current()) ? costs.release : costs.release_other);
    in.it.plain(at, true);
    heap::release(at);
}

} // namespace
} // namespace ekiden::computed

void* operator new(std::size_t size) { return ekiden::computed::make(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return ekiden::computed::make(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { ekiden::computed::drop(at); }
void operator delete(void* at, std::size_t) noexcept { ekiden::computed::drop(at); }
void operator delete(void* at, std::align_val_t) noexcept { ekiden::computed::drop(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { ekiden::computed::drop(at); }
