// A compiler that knows [[clang::coro_await_elidable]] places the frame of an awaited coroutine in the
// awaiting frame. Each coroutine of a chain of three has a large frame, which the library allocates by
// operator new. Exits with 0 if the whole chain needs one large allocation.
#include "driver.hpp"

#include <ekiden/async/coroutine.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

int large_allocations = 0;
constexpr std::size_t large = 4096;

volatile bool is_ready = true;
volatile const char* seen = nullptr;

/// Never suspends, but the compiler does not know this. So objects that live across the await are in the
/// frame.
struct maybe_suspends {
    static bool await_ready() noexcept { return is_ready; }
    static void await_suspend(std::coroutine_handle<>) noexcept {}
    static void await_resume() noexcept {}
};

/// Returns how many coroutines were awaited in a chain.
ekiden::coroutine<int> last() {
    volatile char kept[large] = {};
    seen = kept;
    co_await maybe_suspends();
    co_return 1 + kept[0];
}

ekiden::coroutine<int> middle() {
    volatile char kept[large] = {};
    seen = kept;
    const int below = co_await last();
    co_return below + 1 + kept[0];
}

ekiden::coroutine<int> first() {
    volatile char kept[large] = {};
    seen = kept;
    const int below = co_await middle();
    co_return below + 1 + kept[0];
}

driver drive(int& result) { result = co_await first(); }

} // namespace

void* operator new(std::size_t size) {
    if (size >= large) ++large_allocations;
    if (void* const memory = std::malloc(size)) return memory;
    std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main() {
    int result = 0;
    drive(result);
    std::printf("%d large allocations for %d coroutines\n", large_allocations, result);
    return result == 3 && large_allocations == 1 ? 0 : 1;
}
