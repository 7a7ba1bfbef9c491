#include <ekiden/ekiden.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/effort.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

using ekiden::thread_pool;
using namespace std::chrono_literals;

namespace {

/// How a child ended, and what it said.
struct ended_child {
    int exit_code = -1;
    int signal = 0;
    std::string said;
};

/// A child made by fork(), in a task or anywhere.
class child_process {
public:
    /// True in the child. SIGALRM ends one that hangs.
    bool fork() {
        if (::pipe(ends_) != 0) std::abort();
        number_ = ::fork();
        if (number_ < 0) std::abort();
        if (number_ != 0) {
            ::close(ends_[1]);
            return false;
        }
        ::close(ends_[0]);
        ::dup2(ends_[1], STDERR_FILENO);
        for (const int s : {SIGABRT, SIGSEGV, SIGALRM}) std::signal(s, SIG_DFL);
        ::alarm(60);
        return true;
    }

    [[nodiscard]] ended_child wait() const {
        ended_child result;
        char buffer[4096];
        for (ssize_t n; (n = ::read(ends_[0], buffer, sizeof buffer)) > 0;)
            result.said.append(buffer, static_cast<std::size_t>(n));
        ::close(ends_[0]);
        int status = 0;
        ::waitpid(number_, &status, 0);
        if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
        return result;
    }

private:
    int ends_[2] = {-1, -1};
    pid_t number_ = -1;
};

/// An object that parent and child share.
template <class T>
class shared_with_child {
public:
    shared_with_child() {
        void* const memory =
            ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) std::abort();
        here_ = ::new (memory) T();
    }
    ~shared_with_child() { ::munmap(here_, sizeof(T)); }
    shared_with_child(const shared_with_child&) = delete;
    shared_with_child& operator=(const shared_with_child&) = delete;

    T& operator*() const noexcept { return *here_; }

private:
    T* here_;
};

template <class Call>
bool is_refused(Call&& call) {
    try {
        call();
    } catch (const std::system_error& error) {
        return error.code() == std::errc::operation_not_permitted;
    }
    return false;
}

/// What works in a child: everything that is made there.
bool new_things_work() {
    ekiden::promise<int> giver;
    auto taker = giver.get_future();
    giver.set_value(1);
    if (taker.get() != 1) return false;
#if !defined(EKIDEN_TSAN) // which does not support threads in the child
    thread_pool fresh({.threads = 2});
    std::atomic<int> sum{0};
    ekiden::parallel_for(fresh, 0, 1000, [&](int) { ++sum; });
    ekiden::task_group group(fresh);
    for (int i = 0; i != 10; ++i) group.spawn([&] { ++sum; });
    group.wait();
    const int answer = ekiden::default_pool().submit([] { return 3; }).get();
    return fresh.submit([] { return 2; }).get() + answer == 5 && sum == 1010;
#else
    return true;
#endif
}

/// The number of the first call that is not as promised, 0 if all are.
int wrong_call_in_child(thread_pool& pool) {
    if (!is_refused([&] { pool.post([] {}); })) return 1;
    if (!is_refused([&] { pool.post(ekiden::priority::high, [] {}); })) return 2;
    if (!is_refused([&] { (void)pool.submit([] {}); })) return 3;
    if (!is_refused([&] { pool.post_bulk(3, [] {}); })) return 4;
    if (!is_refused([&] { pool.wait_idle(); })) return 5;
    if (!is_refused([&] { pool.join(); })) return 6;
    if (!is_refused([&] { ekiden::parallel_for(pool, 0, 9, [](int) {}); })) return 7;
    if (!is_refused([&] { ekiden::task_group(pool).spawn([] {}); })) return 8;
    pool.pause();
    pool.resume();
    pool.stop();
    if (pool.metrics().threads != 0) return 9;
    if (pool.running_in_this_thread()) return 10;
    return 0;
}

} // namespace

TEST_CASE("whenever a process forks, each call in the child ends at once, and new pools work there") {
    if (!ekiden_test::can_child_start_threads()) return;
    auto* const pool = new thread_pool({.threads = 2, .max_threads = 4, .keep_alive = 0ms});
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    const auto keep_doing = [&](auto what) {
        threads.emplace_back([&is_over, what] {
            while (!is_over) what();
        });
    };
    keep_doing([pool] { // the ring, the memory of tasks, the workers' places
        for (int i = 0; i != 50; ++i) pool->post([] { const ekiden::blocking_region here("a test"); });
        pool->wait_idle();
    });
    keep_doing([pool] { // new rings
        std::thread([pool] { pool->submit([] {}).get(); }).join();
    });
    keep_doing([pool] { (void)pool->metrics(); });
    keep_doing([] { thread_pool({.threads = 1}).submit([] {}).get(); });
    std::string failure;
    for (int i = 0; i != ekiden_test::rounds(100) && failure.empty(); ++i) {
        child_process child;
        if (child.fork()) {
            int wrong = wrong_call_in_child(*pool);
            if (wrong == 0 && !new_things_work()) wrong = 100;
            delete pool;
            ::_exit(wrong);
        }
        const ended_child ended = child.wait();
        if (ended.exit_code != 0) {
            failure = "fork " + std::to_string(i) + ": exit code " + std::to_string(ended.exit_code)
                      + ", signal " + std::to_string(ended.signal) + " " + ended.said;
        }
    }
    is_over = true;
    for (std::thread& t : threads) t.join();
    CHECK(failure == "");
    CHECK(pool->submit([] { return 2; }).get() == 2);
    delete pool;
}

TEST_CASE("the shared ring's lock is not waited for in the child") {
    // More threads than there are rings of their own.
    thread_pool pool({.threads = 1});
    std::atomic<bool> is_over{false};
    std::atomic<int> posting{0};
    std::vector<std::thread> threads;
    for (int i = 0; i != 70; ++i) {
        threads.emplace_back([&, i] {
            pool.post([] {});
            ++posting;
            while (!is_over) {
                if (i < 66 || pool.metrics().tasks_pending > 1000)
                    std::this_thread::sleep_for(1ms);
                else
                    pool.post([] {});
            }
        });
    }
    while (posting != 70) std::this_thread::yield();
    std::string failure;
    std::thread([&] { // this one has the shared ring as well
        for (int i = 0; i != ekiden_test::rounds(40) && failure.empty(); ++i) {
            pool.post([] {});
            child_process child;
            if (child.fork()) ::_exit(wrong_call_in_child(pool));
            const ended_child ended = child.wait();
            if (ended.exit_code != 0)
                failure = "exit code " + std::to_string(ended.exit_code) + ", signal "
                          + std::to_string(ended.signal);
        }
    })
        .join();
    is_over = true;
    for (std::thread& t : threads) t.join();
    CHECK(failure == "");
}

TEST_CASE(
    "in the child the future of a task that was queued or ran reports an error, a result is delivered") {
    thread_pool pool({.threads = 1});
    std::atomic<bool> may_end{false};
    auto ready = pool.submit([] { return 5; });
    ready.wait();
    std::atomic<bool> has_begun{false};
    auto running = pool.submit([&] {
        has_begun = true;
        while (!may_end) std::this_thread::yield();
        return 6;
    });
    while (!has_begun) std::this_thread::yield();
    auto queued = pool.submit([] { return 7; });
    ekiden::task_group group(pool);
    group.spawn([] {});
    child_process child;
    if (child.fork()) {
        int wrong = 0;
        if (ready.get() != 5) wrong = 1;
        if (!is_refused([&] { (void)running.wait_for(1h); })) wrong = 2;
        if (!is_refused([&] { running.wait(); })) wrong = 3;
        if (!is_refused([&] { (void)running.get(); })) wrong = 4;
        if (!is_refused([&] { (void)queued.get(); })) wrong = 5;
        if (!is_refused([&] { group.wait(); })) wrong = 6;
        ::_exit(wrong);
    }
    CHECK(child.wait().exit_code == 0);
    may_end = true;
    CHECK(ready.get() == 5);
    CHECK(running.get() == 6);
    CHECK(queued.get() == 7);
    CHECK_NOTHROW(group.wait());
}

static std::atomic<bool> is_being_added{false};
static std::atomic<bool> may_be_added{false};

TEST_CASE("a child gets new services of the parent's context, even if a thread was adding one at the fork") {
    struct slow_service final : ekiden::execution_context::service {
        explicit slow_service(ekiden::execution_context& owner) : service(owner) {}
        void added() noexcept override {
            is_being_added = true;
            while (!may_be_added) std::this_thread::yield();
        }
    };
    struct other_service final : ekiden::execution_context::service {
        explicit other_service(ekiden::execution_context& owner) : service(owner) {}
    };
    thread_pool pool({.threads = 1});
    std::thread adder([&] { (void)ekiden::use_service<slow_service>(pool); });
    while (!is_being_added) std::this_thread::yield();
    child_process child;
    if (child.fork()) {
        (void)ekiden::use_service<other_service>(pool);
        ::_exit(ekiden::has_service<other_service>(pool) ? 0 : 1);
    }
    const ended_child ended = child.wait();
    may_be_added = true;
    adder.join();
    CHECK(ended.exit_code == 0);
    CHECK(ended.signal == 0);
}

TEST_CASE(
    "the child of a task's fork that returns from the task ends with a message and runs no other task") {
    const shared_with_child<std::atomic<int>> run_in_child;
    const pid_t parent = ::getpid();
    thread_pool pool({.threads = 1});
    const auto is_it_here = [&run_in_child, parent] {
        if (::getpid() != parent) ++*run_in_child;
    };
    // A task of its own, and one that waits in the middle of which another one forks.
    for (const bool is_nested : {false, true}) {
        child_process child;
        pool.submit([&] {
                for (int i = 0; i != 5; ++i) pool.post(is_it_here);
                auto inner = pool.submit([&] { (void)child.fork(); });
                if (is_nested) inner.wait();
            })
            .wait();
        for (int i = 0; i != 5; ++i) pool.post(is_it_here);
        pool.wait_idle();
        const ended_child ended = child.wait();
        CHECK(ended.signal == SIGABRT);
        CHECK(ended.said.find("ekiden: a task that called fork() has returned in the child") == 0);
    }
    CHECK(*run_in_child == 0);
}

TEST_CASE("in the child of a task's fork new things work, and the task is in no worker") {
    thread_pool pool({.threads = 1});
    child_process child;
    pool.submit([&] {
            pool.post([] {});
            const ekiden::blocking_region here("a test");
            if (!child.fork()) return;
            {
                const ekiden::blocking_region there("nothing");
            }
            ::_exit(new_things_work() ? wrong_call_in_child(pool) : 100);
        })
        .wait();
    const ended_child ended = child.wait();
    CHECK_MESSAGE(ended.exit_code == 0, ended.said);
    CHECK(ended.signal == 0);
}

TEST_CASE("a region that began before the fork may end in the child") {
    thread_pool pool({.threads = 1, .max_threads = 2});
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over) { // holds the lock now and then
            for (int i = 0; i != 10; ++i) (void)pool.metrics();
            std::this_thread::yield();
        }
    });
    std::string failure;
    for (int i = 0; i != ekiden_test::rounds(40) && failure.empty(); ++i) {
        child_process child;
        pool.submit([&] {
                bool is_child = false;
                {
                    const ekiden::blocking_region here("a test");
                    is_child = child.fork();
                }
                if (is_child) ::_exit(0);
            })
            .wait();
        if (const ended_child ended = child.wait(); ended.exit_code != 0)
            failure = "signal " + std::to_string(ended.signal);
    }
    is_over = true;
    other.join();
    CHECK(failure == "");
}

TEST_CASE("a child of a forked call ends with a message when it comes to wait for another thread's call") {
    thread_pool pool({.threads = 1});
    child_process child;
    std::atomic<bool> has_been_taken{false};
    std::atomic<bool> is_over{false};
    ekiden::parallel_for(pool, 0, 2,
                         [&](int) {
                             if (pool.running_in_this_thread()) {
                                 has_been_taken = true;
                                 while (!is_over) std::this_thread::yield();
                             } else {
                                 while (!has_been_taken) std::this_thread::yield();
                                 (void)child.fork();
                                 is_over = true;
                             }
                         },
                         {.grain = 1});
    const ended_child ended = child.wait();
    CHECK(ended.signal == SIGABRT);
    CHECK(ended.said.find("ekiden: fork_join: a call that called fork()") == 0);
}
