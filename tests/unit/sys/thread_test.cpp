#include <ekiden/sys/start_thread.hpp>
#include <ekiden/sys/thread.hpp>

#include <tests/unit/fresh_process.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <string>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#if defined(__APPLE__)
#include <pthread.h>
#endif
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sys = ekiden::sys;

namespace {

#if defined(__linux__)
std::string name_that_the_system_shows() {
    std::ifstream file("/proc/self/task/" + std::to_string(::syscall(SYS_gettid)) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}
#endif

void write_to_stderr(const char* text) { (void)!::write(STDERR_FILENO, text, std::string_view(text).size()); }

/// An action that appends its number to a list.
struct step {
    std::vector<int>* order;
    int number;
    static void act(void* self) {
        auto* const here = static_cast<step*>(self);
        here->order->push_back(here->number);
    }
};

struct counter {
    int value;
};

} // namespace

TEST_CASE("Actions run when their thread ends and the newest runs first") {
    std::vector<int> order;
    step steps[] = {{&order, 1}, {&order, 2}, {&order, 3}};
    std::thread([&] {
        for (step& s : steps) CHECK(sys::at_thread_exit(&step::act, &s));
        CHECK(order.empty());
    }).join();
    CHECK(order == std::vector<int>{3, 2, 1});
}

TEST_CASE("Actions of one thread do not run at the end of another") {
    int mine = 0;
    std::thread([&] {
        CHECK(sys::at_thread_exit([](void* n) { ++*static_cast<int*>(n); }, &mine));
        std::thread([] { CHECK(sys::at_thread_exit([](void*) {}, nullptr)); }).join();
        CHECK(mine == 0);
    }).join();
    CHECK(mine == 1);
}

TEST_CASE("An action that registers actions has them run next") {
    struct chain {
        std::vector<int> order;
        step last{&order, 99};
        int left = 5;
        static void act(void* self) {
            auto* const here = static_cast<chain*>(self);
            here->order.push_back(here->left);
            if (--here->left != 0) CHECK(sys::at_thread_exit(&chain::act, self));
        }
    } chained;
    std::thread([&] {
        CHECK(sys::at_thread_exit(&step::act, &chained.last));
        CHECK(sys::at_thread_exit(&chain::act, &chained));
    }).join();
    CHECK(chained.order == std::vector<int>{5, 4, 3, 2, 1, 99});
}

TEST_CASE("A thread_local object that outlives the actions is told that none will run") {
    static int registered;
    static int acted;
    registered = acted = 0;
    struct late {
        ~late() {
            registered += sys::at_thread_exit([](void*) { ++acted; }, nullptr) ? 1 : 100;
        }
    };
    std::thread([] {
        // Created before the thread's first action, so it is destroyed after them.
        static thread_local late first;
        (void)&first;
        CHECK(sys::at_thread_exit([](void*) {}, nullptr));
    }).join();
    CHECK(registered == 100);
    CHECK(acted == 0);
}

TEST_CASE("A thread's first action may be registered by the destructor of a thread_local object") {
    static int acted;
    acted = 0;
    struct late {
        ~late() {
            registered = sys::at_thread_exit([](void*) { ++acted; }, nullptr);
        }
        bool& registered;
    };
    bool registered = false;
    std::thread([&] {
        static thread_local late only{registered};
        (void)&only;
    }).join();
    CHECK(acted == (registered ? 1 : 0));
}

TEST_CASE("A static object registers an action" * doctest::skip()) {
    struct late {
        ~late() {
            const bool registered = sys::at_thread_exit([](void*) { write_to_stderr("acted\n"); }, nullptr);
            write_to_stderr(registered ? "registered\n" : "refused\n");
        }
    };
    static late last;
    (void)&last;
}

TEST_CASE("The destructor of a static object is told whether its action will run") {
    const auto child = ekiden_test::run_test_case_in_fresh_process("A static object registers an action");
    CAPTURE(child.error_output);
    CHECK(child.exit_code == 0);
    const bool registered = child.error_output.find("registered\n") != std::string::npos;
    const bool refused = child.error_output.find("refused\n") != std::string::npos;
    const bool acted = child.error_output.find("acted\n") != std::string::npos;
    CHECK(registered != refused);
    CHECK(acted == registered);
}

TEST_CASE("Each thread has an object of its own that begins as zero") {
    sys::local<counter>().value = 7;
    const counter* const here = &sys::local<counter>();
    const counter* there = nullptr;
    int begun_with = -1;
    std::thread([&] {
        there = &sys::local<counter>();
        begun_with = sys::local<counter>().value;
        sys::local<counter>().value = 8;
        CHECK(sys::local<counter>().value == 8);
    }).join();
    CHECK(begun_with == 0);
    CHECK(there != here);
    CHECK(sys::local<counter>().value == 7);
    sys::local<counter>().value = 0;
}

TEST_CASE("A thread's own object can be read by destructors of its thread_local objects and by its actions") {
    static int seen_by_destructor;
    static int seen_by_action;
    struct late {
        ~late() { seen_by_destructor = sys::local<counter>().value; }
    };
    std::thread([] {
        static thread_local late object;
        (void)&object;
        sys::local<counter>().value = 5;
        CHECK(sys::at_thread_exit([](void*) { seen_by_action = sys::local<counter>().value++; }, nullptr));
    }).join();
    CHECK(seen_by_action == 5);
#if defined(__MINGW32__) && !defined(__clang__) // g++ destroys the memory of thread_local objects first there
    (void)seen_by_destructor;
#else
    CHECK(seen_by_destructor == 6);
#endif
}

#if defined(__APPLE__)
TEST_CASE("The name of a thread is visible to the system and cut to sixty-three bytes") {
    std::thread([] {
        sys::set_thread_name("relay-7");
        CHECK(sys::this_thread_name() == "relay-7");
        sys::set_thread_name(std::string(62, 'x')
                             + "\xc3\xa4"); // a character of two bytes, of which only one fits
        CHECK(sys::this_thread_name() == std::string(62, 'x'));
        sys::set_thread_name(std::string(100, 'y'));
        CHECK(sys::this_thread_name() == std::string(63, 'y'));
        sys::set_thread_name({});
        CHECK(sys::this_thread_name().empty());
    }).join();
}

TEST_CASE("A thread of the library has the QoS class of the thread that starts it") {
    qos_class_t seen[2]{};
    std::thread([&] {
        for (const bool is_highest : {false, true}) {
            const auto wanted = is_highest ? QOS_CLASS_USER_INTERACTIVE : QOS_CLASS_UTILITY;
            REQUIRE(::pthread_set_qos_class_self_np(wanted, 0) == 0);
            sys::start_thread("test", "a thread", [&seen, is_highest] {
                seen[is_highest ? 1 : 0] = ::qos_class_self();
            }).join();
        }
    }).join();
    CHECK(seen[0] == QOS_CLASS_UTILITY);
    CHECK(seen[1] == QOS_CLASS_USER_INITIATED);
}
#endif

#if defined(__linux__)
TEST_CASE("The name of a thread is visible to the system and cut to fifteen bytes") {
    std::thread([] {
        sys::set_thread_name("relay-7");
        CHECK(name_that_the_system_shows() == "relay-7");
        sys::set_thread_name("a-name-of-14-b\xc3\xa4"); // a character of two bytes, of which only one fits
        CHECK(name_that_the_system_shows() == "a-name-of-14-b");
        sys::set_thread_name("a-name-of-13-\xc3\xa4z");
        CHECK(name_that_the_system_shows() == "a-name-of-13-\xc3\xa4");
        sys::set_thread_name("a-name-of-24-characters!");
        CHECK(name_that_the_system_shows() == "a-name-of-24-ch");
        sys::set_thread_name("exactly-15-byte");
        CHECK(name_that_the_system_shows() == "exactly-15-byte");
        sys::set_thread_name(std::string_view("cut from a text").substr(0, 3));
        CHECK(name_that_the_system_shows() == "cut");
        sys::set_thread_name({});
        CHECK(name_that_the_system_shows().empty());
    }).join();
}
#endif
