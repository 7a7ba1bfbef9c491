/// Programs that the library forbids. Each runs in a separate process, which must end with the expected
/// message.
#include "random.hpp"
#include "world.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <latch>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace seams {

namespace {

using ekiden::loop_context;
using ekiden::loop_pool;
using ekiden::thread_pool;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// ---- other work that runs at the same time, which must not matter

ekiden::coroutine<> sleeps(unsigned time) { co_await ekiden::sleep_for(microseconds(time)); }

void post_again(ekiden::any_executor to, unsigned count) {
    if (count != 0) to.post([to, count] { post_again(to, count - 1); });
}

void add_company(generator& random, const ekiden::any_executor& executor) {
    for (unsigned i = random.below(3); i != 0; --i) post_again(executor, random.below(50));
    if (random.chance(40)) post_again(ekiden::strand<ekiden::any_executor>(executor), random.below(20));
    if (random.chance(40)) {
        const auto t = std::make_shared<ekiden::steady_timer>(executor, microseconds(random.below(2000)));
        t->async_wait([t](std::error_code) {});
    }
    if (random.chance(40))
        ekiden::co_spawn(executor, [time = random.below(2000)] { return sleeps(time); }, ekiden::detached);
}

ekiden::thread_pool_options pool_options(generator& random) {
    ekiden::thread_pool_options o;
    o.threads = 1 + random.below(3);
    if (random.chance(40)) o.max_threads = o.threads + 1 + random.below(2);
    o.keep_alive = milliseconds(random.chance(50) ? 0 : 10'000);
    o.watch_interval = milliseconds(random.chance(20) ? 1 : 0);
    o.spin_time = microseconds(random.chance(20) ? 50 : 0);
    o.on_stall = [](const ekiden::stall_report&) {};
    return o;
}

std::shared_ptr<thread_pool> make_pool(generator& random) {
    auto pool = std::make_shared<thread_pool>(pool_options(random));
    add_company(random, pool->get_executor());
    return pool;
}

std::shared_ptr<loop_pool> make_loops(generator& random) {
    auto loops = std::make_shared<loop_pool>(ekiden::loop_pool_options{.threads = 1 + random.below(3)});
    add_company(random, loops->get_executor(0));
    return loops;
}

// ---- the last reference to a context

/// Releases the reference when it is called.
template <class Context>
struct last_owner {
    std::shared_ptr<Context> context;
    std::latch* others_have_gone;

    void operator()() {
        others_have_gone->wait();
        context.reset();
    }
};

/// Releases the last reference when the thread ends.
struct kept_by_thread {
    std::shared_ptr<void> context;
    ~kept_by_thread() {
        while (context.use_count() > 1) std::this_thread::yield();
    }
};
thread_local kept_by_thread kept;

[[noreturn]] void wait_for_the_end() {
    for (;;) ::pause();
}

// ---- the programs

void pool_by_task(generator& random) {
    auto pool = make_pool(random);
    std::latch gone(1);
    pool->post(last_owner<thread_pool>{pool, &gone});
    pool.reset();
    gone.count_down();
    wait_for_the_end();
}

/// Releases the reference when it is destroyed, whether it has run or not.
struct owner_until_its_end {
    std::shared_ptr<thread_pool> context;
    std::latch* others_have_gone;

    owner_until_its_end(std::shared_ptr<thread_pool> of, std::latch& gone) noexcept
        : context(std::move(of)), others_have_gone(&gone) {}
    owner_until_its_end(owner_until_its_end&&) = default;
    owner_until_its_end(const owner_until_its_end&) = delete;
    owner_until_its_end& operator=(const owner_until_its_end&) = delete;
    owner_until_its_end& operator=(owner_until_its_end&&) = delete;
    ~owner_until_its_end() {
        if (context) others_have_gone->wait();
    }
    void operator()() const {}
};

void pool_by_dropped_task(generator& random) {
    auto pool = make_pool(random);
    std::latch gone(1);
    pool->post(owner_until_its_end(pool, gone));
    pool->stop();
    pool.reset();
    gone.count_down();
    wait_for_the_end();
}

void pool_by_thread_local(generator& random) {
    auto pool = make_pool(random);
    pool->submit([pool] { kept.context = pool; }).get();
    pool->stop();
    pool.reset();
    wait_for_the_end();
}

std::shared_ptr<thread_pool> held; // for functions that are passed as options

void pool_by_handler(generator& random) {
    auto o = pool_options(random);
    o.on_unhandled_exception = [](std::exception_ptr, std::string_view) { held.reset(); };
    held = std::make_shared<thread_pool>(o);
    add_company(random, held->get_executor());
    held->post([] { throw marked(); });
    wait_for_the_end();
}

void pool_by_watch(generator& random) {
    auto o = pool_options(random);
    o.watch_interval = milliseconds(1);
    o.on_stall = [](const ekiden::stall_report&) { held.reset(); };
    held = std::make_shared<thread_pool>(o);
    for (unsigned i = 0; i != 1 + std::max(o.threads, o.max_threads); ++i)
        held->post_bulk(1, [] { ::pause(); });
    wait_for_the_end();
}

void pool_by_frame(generator& random) {
    auto pool = make_pool(random);
    std::latch gone(1);
    const auto executor = pool->get_executor();
    ekiden::co_spawn(
        executor,
        [](std::shared_ptr<thread_pool>, std::latch& others) -> ekiden::coroutine<> {
            others.wait();
            co_return;
        }(std::move(pool), gone),
        ekiden::detached);
    gone.count_down();
    wait_for_the_end();
}

void loop_by_task(generator& random) {
    auto loop = std::make_shared<loop_context>(random.chance(50) ? 1 : loop_context::many);
    loop_context& running = *loop;
    add_company(random, loop->get_executor());
    std::latch gone(0);
    loop->get_executor().post(last_owner<loop_context>{std::move(loop), &gone});
    running.run();
}

void loops_by_task(generator& random) {
    auto loops = make_loops(random);
    std::latch gone(1);
    loops->get_executor(loops->size() - 1).post(last_owner<loop_pool>{loops, &gone});
    loops.reset();
    gone.count_down();
    wait_for_the_end();
}

void loops_by_thread_local(generator& random) {
    auto loops = make_loops(random);
    loops->get_executor(loops->size() - 1).submit([loops] { kept.context = loops; }).get();
    loops->stop();
    loops.reset();
    wait_for_the_end();
}

void work_finished_twice(generator& random) {
    loop_context loop(random.chance(50) ? 1 : loop_context::many);
    const auto executor = loop.get_executor();
    for (unsigned i = random.below(3); i != 0; --i) {
        executor.on_work_started();
        executor.on_work_finished();
    }
    if (random.chance(50)) loop.run();
    executor.on_work_finished();
}

void scope_without_join(generator& random) {
    auto pool = make_pool(random);
    ekiden::sync_wait(pool->get_executor(), [time = random.below(500)]() -> ekiden::coroutine<> {
        ekiden::async_scope scope(co_await ekiden::get_environment());
        (void)scope.spawn([time] { return sleeps(time); });
    });
}

void awaited_twice(generator& random) {
    auto pool = make_pool(random);
    ekiden::sync_wait(pool->get_executor(), []() -> ekiden::coroutine<> {
        auto one = sleeps(1);
        co_await std::move(one);
        co_await std::move(one);
    });
}

struct forbidden {
    const char* name;
    void (*run)(generator& random);
    const char* message; ///< a part of the expected message
};
constexpr std::array programs{
    forbidden{"a task destroys its pool", pool_by_task,
              "a thread_pool is destroyed in one of its own threads, by a task of type "},
    forbidden{"a dropped task destroys its pool", pool_by_dropped_task,
              "a thread_pool is destroyed in one of its own threads, by a task of type "},
    forbidden{"a thread_local object destroys its pool", pool_by_thread_local,
              "a thread_pool is destroyed in one of its own threads, by the destructor of a thread_local "},
    forbidden{"on_unhandled_exception destroys its pool", pool_by_handler,
              "in its function on_unhandled_exception, called for a task of type "},
    forbidden{"on_stall destroys its pool", pool_by_watch, "in its function on_stall; "},
    forbidden{"a frame destroys its pool", pool_by_frame, "by a coroutine, or the end of its frame; "},
    forbidden{"a task destroys its loop", loop_by_task,
              "a loop_context is destroyed in one of its own threads, by a task of type "},
    forbidden{"a task destroys its loop pool", loops_by_task,
              "a loop_pool is destroyed in one of its own threads, by a task of type "},
    forbidden{"a thread_local object destroys its loop pool", loops_by_thread_local,
              "a loop_pool is destroyed in one of its own threads, by the destructor of a thread_local "},
    forbidden{"on_work_finished() once too often", work_finished_twice,
              "on_work_finished() is called more often than on_work_started()"},
    forbidden{"a scope ends without wait()", scope_without_join, "async_scope: destroyed "},
    forbidden{"a coroutine is awaited twice", awaited_twice, "the coroutine has been awaited or moved from"},
};

/// Only this thread exists, so the forked child may start threads.
void run_in_child(const forbidden& f, std::uint64_t seed) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) fail("no pipe");
    const ::pid_t child = ::fork();
    if (child < 0) fail("no process");
    if (child == 0) {
        ::dup2(ends[1], STDERR_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        const ::rlimit no_core{0, 0};
        (void)::setrlimit(RLIMIT_CORE, &no_core);
        generator random(seed);
        f.run(random);
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string said;
    std::array<char, 512> piece{};
    for (::ssize_t n = 0; (n = ::read(ends[0], piece.data(), piece.size())) > 0;)
        said.append(piece.data(), static_cast<std::size_t>(n));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool has_aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    if (has_aborted && said.find(f.message) != std::string::npos) return;
    fail((std::string("a forbidden program has not ended with its message: ") + f.name + ": action: " + said)
             .c_str(),
         nullptr, status);
}

} // namespace

bool run_special(std::uint64_t seed) {
    constexpr std::uint64_t each = 64;
    if (seed % each != 33 || !chosen().is_on(trait::special)) return false;
    run_in_child(programs[seed / each % programs.size()], seed);
    return true;
}

} // namespace seams
