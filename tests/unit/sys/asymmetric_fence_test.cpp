#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/thread.hpp>

#include <tests/unit/fresh_process.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sys = ekiden::sys;

namespace {

#if defined(EKIDEN_TSAN)
constexpr bool may_be_asymmetric = false;
#else
constexpr bool may_be_asymmetric = true;
#endif

bool system_has_membarrier() {
    const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0U, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

/// Two threads write one word each and then read the other's word, `rounds` times. Returns how often both
/// missed the other's write. The fences forbid that.
int both_missed(int rounds) {
    struct alignas(sys::isolation) word {
        sys::atomic<int> value{0};
        int seen = 0;
    };
    word light_side;
    word heavy_side;
    word round; // is incremented twice per round, at its begin and its end
    int missed = 0;
    const auto meet = [&](int step) {
        round.value.fetch_add(1, sys::acq_rel);
        while (round.value.load(sys::acquire) < 2 * step) sys::yield();
    };
    sys::thread other([&] {
        for (int i = 1; i <= rounds; ++i) {
            meet(2 * i - 1);
            light_side.value.store(i, sys::relaxed);
            sys::fence_light();
            light_side.seen = heavy_side.value.load(sys::relaxed);
            meet(2 * i);
        }
    });
    for (int i = 1; i <= rounds; ++i) {
        meet(2 * i - 1);
        heavy_side.value.store(i, sys::relaxed);
        sys::fence_heavy();
        heavy_side.seen = light_side.value.load(sys::relaxed);
        meet(2 * i);
        // The other thread writes its `seen` again only after this thread's next meet().
        missed += light_side.seen != i && heavy_side.seen != i;
    }
    other.join();
    return missed;
}

} // namespace

TEST_CASE("The heavy fence is the kernel's where the kernel grants it") {
    CHECK(sys::has_asymmetric_fence == (may_be_asymmetric && system_has_membarrier()));
}

TEST_CASE("A light fence and a heavy fence order like two full fences") { CHECK(both_missed(5000) == 0); }

TEST_CASE("In a process without membarrier both fences are full ones" * doctest::skip()) {
    REQUIRE_FALSE(system_has_membarrier());
    CHECK_FALSE(sys::has_asymmetric_fence);
    CHECK(both_missed(5000) == 0);
}

TEST_CASE("The fences order also where the kernel refuses membarrier") {
    for (const unsigned error : {EPERM, ENOSYS}) {
        const auto child = ekiden_test::run_test_case_in_fresh_process(
            "In a process without membarrier both fences are full ones", [&] {
                if (!ekiden_test::forbid_system_call(SYS_membarrier, error)) std::_Exit(77);
            });
        CAPTURE(child.error_output);
        if (child.exit_code == 77) {
            MESSAGE("this system does not let a process forbid system calls");
            return;
        }
        CHECK(child.signal == 0);
        CHECK(child.exit_code == 0);
    }
}

TEST_CASE("A process from which membarrier is withdrawn ends with a message") {
    if (!sys::has_asymmetric_fence) return;
    const auto child = ekiden_test::run_in_child([] {
        sys::fence_heavy();
        if (!ekiden_test::forbid_system_call(SYS_membarrier, EPERM)) std::_Exit(77);
        sys::fence_heavy();
    });
    if (child.exit_code == 77) return;
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output.find("withdrawn membarrier") != std::string::npos);
}

TEST_CASE("The heavy fence works in the child of a fork") {
    const auto child = ekiden_test::run_in_child([] { sys::fence_heavy(); });
    CHECK(child.exit_code == 0);
}
