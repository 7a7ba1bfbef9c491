/// A value for each thread, and the combination of all values at the end.
///
/// Part: fork. Used by: programs.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/next_number.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A value of type T for each thread that calls local(). Use it for a sum or a list to which the calls of a
/// parallel loop add, if parallel_reduce() does not fit. A T can be any object type, for example a container.
///
/// Thread safety: any thread may call local() at any time, also while other threads call local(). The other
/// functions, and the destructor, need exclusive access to the object. Call them after the loop has returned,
/// or after the wait for the tasks.
/// Ordering: combinable orders nothing between threads. The return of a parallel algorithm and the wait for a
/// task_group make the values of all threads visible.
/// Lifetime: a value, and each reference that local() has returned, is valid until clear() or the destructor,
/// even after the end of its thread. While a task waits, its thread may run other tasks, and these tasks get
/// the same value.
template <class T>
class combinable {
public:
    /// Constructs an object without values. The values begin as T().
    combinable()
        requires std::default_initializable<T>
        : combinable([] { return T(); }) {}

    /// Constructs an object without values. Each value begins as the result of a call of `make()`. Several
    /// threads may call `make` at the same time. Throws std::bad_alloc, and whatever the copy of `make`
    /// throws.
    template <class Make>
        requires(!std::same_as<std::remove_cvref_t<Make>, combinable> && std::is_invocable_r_v<T, Make&>)
    explicit combinable(Make&& make) : make_(std::forward<Make>(make)) {}

    ~combinable() { clear(); }
    combinable(const combinable&) = delete;
    combinable& operator=(const combinable&) = delete;

    /// Returns the value of the calling thread. The first call in a thread makes the value, and throws
    /// whatever `make` throws, or std::bad_alloc. A call that throws has no effect. A later call takes a few
    /// nanoseconds.
    [[nodiscard]] T& local() {
        const std::uint64_t me = this_thread();
        sys::atomic<node*>& bucket = buckets_[me % bucket_count];
        // [CB1] Acquire: makes `next` and `owner` of all nodes of the bucket visible. Pairs with the release
        // in add().
        for (node* n = bucket.load(sys::acquire); n != nullptr; n = n->next.read()) {
            if (n->owner == me) return n->value;
        }
        return add(bucket, me);
    }

    /// Calls `f(value)` for each value. The order of the values is not specified.
    template <std::invocable<T&> F>
    void combine_each(F&& f) {
        for (const sys::atomic<node*>& bucket : buckets_) {
            // Relaxed is enough, because no other thread uses the object.
            for (node* n = bucket.load(sys::relaxed); n != nullptr; n = n->next.read())
                std::invoke(f, n->value);
        }
    }

    /// Combines copies of all values with `f(a, b)`, in an order that is not specified. So `f` should be
    /// associative and commutative. If there is no value, returns the result of `make()`. Throws whatever `f`
    /// and the copies throw.
    template <class F>
        requires std::is_invocable_r_v<T, F&, T, const T&>
    [[nodiscard]] T combine(F&& f) {
        std::unique_ptr<T> result;
        combine_each([&](const T& value) {
            if (result == nullptr)
                result = std::make_unique<T>(value);
            else
                *result = std::invoke(f, std::move(*result), value);
        });
        return result != nullptr ? std::move(*result) : T(make_());
    }

    /// Returns the number of values.
    [[nodiscard]] std::size_t size() noexcept {
        std::size_t count = 0;
        combine_each([&count](T&) noexcept { ++count; });
        return count;
    }

    /// Destroys all values. The next call of local() in a thread makes a new value.
    void clear() noexcept {
        for (sys::atomic<node*>& bucket : buckets_) {
            for (node* n = bucket.load(sys::relaxed); n != nullptr;) delete std::exchange(n, n->next.read());
            bucket.store(nullptr, sys::relaxed);
        }
    }

private:
    static constexpr std::size_t bucket_count = 32;

    // Each value has cache lines of its own, so that threads do not slow each other down.
    struct alignas(sys::isolation) node {
        node(std::uint64_t thread, std::function<T()>& make) : owner(thread), value(make()) {}

        const std::uint64_t owner;
        sys::cell<node*> next{nullptr};
        T value;
    };

    /// Returns the number of the calling thread. No other thread ever has the same number.
    [[nodiscard]] static std::uint64_t this_thread() noexcept {
        struct number_of_thread {
            std::uint64_t number = 0; // 0 until the first call
        };
        std::uint64_t& number = sys::local<number_of_thread>().number;
        if (number == 0) [[unlikely]]
            number = sys::next_number();
        return number;
    }

    EKIDEN_NOINLINE T& add(sys::atomic<node*>& bucket, std::uint64_t me) {
        auto* const fresh = new node(me, make_);
        node* newest = bucket.load(sys::relaxed);
        // [CB1] Release: publishes the node. Pairs with the acquire in local(). The step continues the
        // release sequences of the nodes behind it.
        do {
            fresh->next.write(EKIDEN_MUTANT(combinable_loses_the_others) ? nullptr : newest);
        } while (!bucket.compare_exchange_weak(newest, fresh, sys::release, sys::relaxed));
        return fresh->value;
    }

    std::function<T()> make_;
    std::array<sys::atomic<node*>, bucket_count> buckets_{};
};

} // namespace ekiden::inline EKIDEN_ABI
