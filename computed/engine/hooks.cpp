// The functions that compilers call at accesses to memory in code that is built with -fsanitize=thread. The
// program is not linked with ThreadSanitizer. Instead, these functions charge the accesses to the clock of
// the running core.
#include <computed/engine/engine.hpp>

#include <cstddef>
#include <cstdint>

namespace {

using ekiden::computed::engine;
using ekiden::computed::inside;

// `site` is the place in the program from which the hook was called.
void access(const void* at, bool is_write, const void* site) noexcept {
    if (ekiden::computed::running == nullptr) return;
    const inside in(site);
    in.it.plain(at, is_write);
}

void range(const void* at, std::size_t size, bool is_write, const void* site) noexcept {
    constexpr std::size_t step = ekiden::computed::arena::line_size;
    const char* const end = static_cast<const char*>(at) + size;
    for (const char* next = static_cast<const char*>(at); next < end;
         next += step - reinterpret_cast<std::uintptr_t>(next) % step)
        access(next, is_write, site);
}

template <void (engine::*Charge)(const void*) noexcept>
void charge(const volatile void* at, const void* site) noexcept {
    if (ekiden::computed::running == nullptr) return;
    const inside in(site);
    (in.it.*Charge)(const_cast<const void*>(at));
}

template <class T>
T load(const volatile T* at, const void* site) noexcept {
    charge<&engine::atomic_load>(at, site);
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

template <class T>
void store(volatile T* at, T value, int order, const void* site) noexcept {
    // On x86, a store with the order seq_cst is an exchange.
    order == __ATOMIC_SEQ_CST ? charge<&engine::modify>(at, site) : charge<&engine::atomic_store>(at, site);
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}

template <class T>
bool compare_exchange(volatile T* at, T* expected, T desired, const void* site) noexcept {
    charge<&engine::modify>(at, site);
    return __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

} // namespace

#define EKIDEN_COMPUTED_SITE __builtin_return_address(0)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {
    if (ekiden::computed::running != nullptr) ekiden::computed::running->called();
}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void** at, void*) { access(at, true, EKIDEN_COMPUTED_SITE); }
void __tsan_vptr_read(void** at) { access(at, false, EKIDEN_COMPUTED_SITE); }
void __tsan_read_range(void* at, std::size_t size) { range(at, size, false, EKIDEN_COMPUTED_SITE); }
void __tsan_write_range(void* at, std::size_t size) { range(at, size, true, EKIDEN_COMPUTED_SITE); }

#define EKIDEN_COMPUTED_ACCESS(name)                                                                         \
    void __tsan_read##name(void* at) { access(at, false, EKIDEN_COMPUTED_SITE); }                            \
    void __tsan_write##name(void* at) { access(at, true, EKIDEN_COMPUTED_SITE); }
EKIDEN_COMPUTED_ACCESS(1)
EKIDEN_COMPUTED_ACCESS(2)
EKIDEN_COMPUTED_ACCESS(4)
EKIDEN_COMPUTED_ACCESS(8)
EKIDEN_COMPUTED_ACCESS(16)
void __tsan_unaligned_read2(void* at) { range(at, 2, false, EKIDEN_COMPUTED_SITE); }
void __tsan_unaligned_read4(void* at) { range(at, 4, false, EKIDEN_COMPUTED_SITE); }
void __tsan_unaligned_read8(void* at) { range(at, 8, false, EKIDEN_COMPUTED_SITE); }
void __tsan_unaligned_read16(void* at) { range(at, 16, false, EKIDEN_COMPUTED_SITE); }
void __tsan_unaligned_write2(void* at) { range(at, 2, true, EKIDEN_COMPUTED_SITE); }
void __tsan_unaligned_write4(void* at) { range(at, 4, true, EKIDEN_COMPUTED_SITE); }
void __tsan_unaligned_write8(void* at) { range(at, 8, true, EKIDEN_COMPUTED_SITE); }
void __tsan_unaligned_write16(void* at) { range(at, 16, true, EKIDEN_COMPUTED_SITE); }

#define EKIDEN_COMPUTED_MODIFY(bits, type, name)                                                             \
    type __tsan_atomic##bits##_##name(volatile type* at, type operand, int) {                                \
        charge<&engine::modify>(at, EKIDEN_COMPUTED_SITE);                                                   \
        return __atomic_##name(at, operand, __ATOMIC_SEQ_CST);                                               \
    }
#define EKIDEN_COMPUTED_ATOMIC(bits, type)                                                                   \
    type __tsan_atomic##bits##_load(const volatile type* at, int) { return load(at, EKIDEN_COMPUTED_SITE); } \
    void __tsan_atomic##bits##_store(volatile type* at, type value, int order) {                             \
        store(at, value, order, EKIDEN_COMPUTED_SITE);                                                       \
    }                                                                                                        \
    type __tsan_atomic##bits##_exchange(volatile type* at, type value, int) {                                \
        charge<&engine::modify>(at, EKIDEN_COMPUTED_SITE);                                                   \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                             \
    }                                                                                                        \
    bool __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* expected, type desired, int, \
                                                       int) {                                                \
        return compare_exchange(at, expected, desired, EKIDEN_COMPUTED_SITE);                                \
    }                                                                                                        \
    bool __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* expected, type desired, int,   \
                                                     int) {                                                  \
        return compare_exchange(at, expected, desired, EKIDEN_COMPUTED_SITE);                                \
    }                                                                                                        \
    EKIDEN_COMPUTED_MODIFY(bits, type, fetch_add)                                                            \
    EKIDEN_COMPUTED_MODIFY(bits, type, fetch_sub)                                                            \
    EKIDEN_COMPUTED_MODIFY(bits, type, fetch_and)                                                            \
    EKIDEN_COMPUTED_MODIFY(bits, type, fetch_or)                                                             \
    EKIDEN_COMPUTED_MODIFY(bits, type, fetch_xor)
EKIDEN_COMPUTED_ATOMIC(8, std::uint8_t)
EKIDEN_COMPUTED_ATOMIC(16, std::uint16_t)
EKIDEN_COMPUTED_ATOMIC(32, std::uint32_t)
EKIDEN_COMPUTED_ATOMIC(64, std::uint64_t)

void __tsan_atomic_thread_fence(int order) {
    if (order != __ATOMIC_SEQ_CST || ekiden::computed::running == nullptr)
        return; // on x86, the others are free
    const inside in(EKIDEN_COMPUTED_SITE);
    in.it.full_fence();
}
void __tsan_atomic_signal_fence(int) {}

} // extern "C"
