/// sys::atomic, sys::cell and sys::fence of the checking build.
///
/// Part: check (engine). Included by src/ekiden/sys/atomic.hpp when EKIDEN_CHECKING is set. An atomic object
/// has the same size and alignment as its value. The engine finds its own data about the object by the
/// object's address.
#pragma once

#include <check/engine/access.hpp>
#include <ekiden/sys/config.hpp>

#include <atomic>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Like std::atomic<T>, for trivially copyable T of at most 8 bytes.
template <class T>
class atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    using site = std::source_location;
    using order = std::memory_order;
    struct no_difference {};
    using difference = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t,
                                          std::conditional_t<std::is_arithmetic_v<T>, T, no_difference>>;

public:
    using value_type = T;
    static constexpr bool is_always_lock_free = true;
    [[nodiscard]] bool is_lock_free() const volatile noexcept { return true; }

    constexpr atomic() noexcept : atomic(T{}) {}
    constexpr atomic(T value) noexcept : value_(value) {
        if (!std::is_constant_evaluated()) {
            clear_padding(value_);
            check::born(&value_, true);
        }
    }
    constexpr ~atomic() {
        if (!std::is_constant_evaluated()) check::died(&value_, site::current());
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(order how = order::seq_cst, site where = site::current()) const volatile noexcept {
        return decode(check::load(place(), sizeof(T), how, where));
    }
    void store(T value, order how = order::seq_cst, site where = site::current()) volatile noexcept {
        check::store(place(), sizeof(T), encode(value), how, where);
    }
    T exchange(T value, order how = order::seq_cst, site where = site::current()) volatile noexcept {
        return modify(check::arithmetic::exchange, encode(value), how, where);
    }
    T fetch_add(difference by, order how = order::seq_cst, site where = site::current()) volatile noexcept {
        return modify(adds, scaled(by), how, where);
    }
    T fetch_sub(difference by, order how = order::seq_cst, site where = site::current()) volatile noexcept {
        return modify(subtracts, scaled(by), how, where);
    }
    T fetch_or(T bits, order how = order::seq_cst, site where = site::current()) volatile noexcept {
        return modify(check::arithmetic::bit_or, encode(bits), how, where);
    }
    T fetch_and(T bits, order how = order::seq_cst, site where = site::current()) volatile noexcept {
        return modify(check::arithmetic::bit_and, encode(bits), how, where);
    }
    T fetch_xor(T bits, order how = order::seq_cst, site where = site::current()) volatile noexcept {
        return modify(check::arithmetic::bit_xor, encode(bits), how, where);
    }

    bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                                 site where = site::current()) volatile noexcept {
        return exchange_if(expected, desired, success, failure, false, where);
    }
    bool compare_exchange_strong(T& expected, T desired, order how = order::seq_cst,
                                 site where = site::current()) volatile noexcept {
        return exchange_if(expected, desired, how, on_failure(how), false, where);
    }
    bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                               site where = site::current()) volatile noexcept {
        return exchange_if(expected, desired, success, failure, true, where);
    }
    bool compare_exchange_weak(T& expected, T desired, order how = order::seq_cst,
                               site where = site::current()) volatile noexcept {
        return exchange_if(expected, desired, how, on_failure(how), true, where);
    }

    void wait(T old, order how = order::seq_cst, site where = site::current()) const volatile noexcept {
        while (encode(load(how, where)) == encode(old))
            (void)check::wait_on(place(), sizeof(T), encode(old), check::never, where);
    }
    void notify_one(site where = site::current()) volatile noexcept { (void)check::wake(place(), 1, where); }
    void notify_all(site where = site::current()) volatile noexcept {
        (void)check::wake(place(), ~0U, where);
    }

private:
    static constexpr check::arithmetic adds = std::is_same_v<T, float>    ? check::arithmetic::add_float
                                              : std::is_same_v<T, double> ? check::arithmetic::add_double
                                                                          : check::arithmetic::add;
    static constexpr check::arithmetic subtracts =
        std::is_same_v<T, float>    ? check::arithmetic::subtract_float
        : std::is_same_v<T, double> ? check::arithmetic::subtract_double
                                    : check::arithmetic::subtract;

    void* place() volatile noexcept { return const_cast<T*>(&value_); }
    const void* place() const volatile noexcept { return const_cast<const T*>(&value_); }
    /// Clears the padding of `value` if the compiler can do so. Then compare_exchange does not compare
    /// padding, like in the standard library.
    static void clear_padding(T& value) noexcept {
#if __has_builtin(__builtin_clear_padding)
        __builtin_clear_padding(&value);
#endif
        (void)value;
    }
    static std::uint64_t encode(T value) noexcept {
        clear_padding(value);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof(T));
        return bits;
    }
    static T decode(std::uint64_t bits) noexcept {
        alignas(T) unsigned char storage[sizeof(T)];
        std::memcpy(storage, &bits, sizeof(T));
        return *reinterpret_cast<T*>(storage);
    }
    static std::uint64_t scaled(difference by) noexcept {
        if constexpr (std::is_pointer_v<T>)
            return static_cast<std::uint64_t>(
                by * static_cast<std::ptrdiff_t>(sizeof(std::remove_pointer_t<T>)));
        else
            return encode(by);
    }
    static constexpr order on_failure(order how) noexcept {
        return how == order::acq_rel ? order::acquire : how == order::release ? order::relaxed : how;
    }
    T modify(check::arithmetic what, std::uint64_t operand, order how, const site& where) volatile noexcept {
        return decode(check::modify(place(), sizeof(T), what, operand, how, where));
    }
    bool exchange_if(T& expected, T desired, order success, order failure, bool weak,
                     const site& where) volatile noexcept {
        std::uint64_t old = encode(expected);
        const bool done =
            check::compare_exchange(place(), sizeof(T), old, encode(desired), success, failure, weak, where);
        if (!done) expected = decode(old);
        return done;
    }

    alignas(sizeof(T) == 8 || sizeof(T) == 4 || sizeof(T) == 2 ? sizeof(T) : alignof(T)) T value_;
};

/// Plain data whose accesses are checked: see src/ekiden/sys/atomic.hpp.
template <class T>
class cell {
    using site = std::source_location;

public:
    constexpr cell() noexcept {
        if (!std::is_constant_evaluated()) check::born(this, false);
    }
    constexpr explicit cell(T value) noexcept : value_(value) {
        if (!std::is_constant_evaluated()) check::born(this, false);
    }
    constexpr ~cell() {
        if (!std::is_constant_evaluated()) check::died(this, site::current());
    }
    cell(const cell&) = delete;
    cell& operator=(const cell&) = delete;

    T read(site where = site::current()) const noexcept {
        check::cell_read(this, where);
        return value_;
    }
    void write(T value, site where = site::current()) noexcept {
        check::cell_write(this, where);
        value_ = value;
    }

private:
    T value_{};
};

inline void fence(std::memory_order how,
                  std::source_location where = std::source_location::current()) noexcept {
    check::thread_fence(how, where);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
