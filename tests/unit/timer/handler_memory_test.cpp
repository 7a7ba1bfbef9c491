// The memory of a wait comes from the handler's allocator, which may refer to objects of the handler.
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <system_error>

namespace {

/// An allocator that a handler makes from memory which only the handler owns.
template <class T>
struct owned_allocator {
    using value_type = T;
    explicit owned_allocator(std::pmr::memory_resource* of) noexcept : memory(of) {}
    template <class U>
    owned_allocator(const owned_allocator<U>& other) noexcept : memory(other.memory) {}
    [[nodiscard]] T* allocate(std::size_t count) {
        return static_cast<T*>(memory->allocate(count * sizeof(T), alignof(T)));
    }
    void deallocate(T* place, std::size_t count) noexcept {
        REQUIRE(memory != nullptr);
        memory->deallocate(place, count * sizeof(T), alignof(T));
    }
    template <class U>
    bool operator==(const owned_allocator<U>& other) const noexcept {
        return memory == other.memory;
    }

    std::pmr::memory_resource* memory;
};

struct owns_its_memory {
    using allocator_type = owned_allocator<std::byte>;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(memory.get()); }
    void operator()(std::error_code) const { *has_run = true; }

    bool* has_run;
    std::unique_ptr<std::pmr::memory_resource> memory =
        std::make_unique<std::pmr::unsynchronized_pool_resource>();
};

} // namespace

TEST_CASE("The allocator of a moved handler is not used") {
    ekiden::loop_context context(1);
    ekiden::steady_timer timer(context, std::chrono::hours(1));
    bool has_run = false;
    timer.async_wait(owns_its_memory{&has_run});
    timer.cancel();
    context.run();
    CHECK(has_run);
}
