// fork() while a thread of the parent holds a lock of a service: the child does not wait for this lock.
#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/ekiden.hpp>
#include <ekiden/execution/detail/continuations.hpp>

#include <tests/unit/child_process.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

using ekiden::thread_pool;
using namespace std::chrono_literals;

namespace {

template <class Call>
bool throws_not_permitted(Call&& call) {
    try {
        call();
    } catch (const std::system_error& error) {
        return error.code() == std::errc::operation_not_permitted;
    }
    return false;
}

/// Forks, and ends the child with the result of `body()`, or after ten seconds. Returns the exit code, or -1
/// if a signal ended the child.
template <class Body>
int exit_code_of_child(Body&& body) {
    return ekiden_test::run_in_child([&] {
               ::alarm(10);
               ::_exit(body());
           })
        .exit_code;
}

std::atomic<bool> has_begun_to_add{false};
std::atomic<bool> may_be_done{false};

} // namespace

TEST_CASE("a grandchild gets new services, even if a thread of the child was adding one at the fork") {
#if !defined(EKIDEN_TSAN)
    if (!ekiden_test::can_child_start_threads()) return;
    struct slow_service final : ekiden::execution_context::service {
        explicit slow_service(ekiden::execution_context& owner) : service(owner) {}
        void added() noexcept override {
            has_begun_to_add = true;
            while (!may_be_done) std::this_thread::yield();
        }
    };
    struct other_service final : ekiden::execution_context::service {
        explicit other_service(ekiden::execution_context& owner) : service(owner) {}
    };
    thread_pool pool({.threads = 1});
    CHECK(exit_code_of_child([&] {
              thread_pool mine({.threads = 1});
              has_begun_to_add = may_be_done = false;
              std::thread adder([&] { (void)ekiden::use_service<slow_service>(pool); });
              while (!has_begun_to_add) std::this_thread::yield();
              const int wrong = exit_code_of_child([&] {
                  (void)ekiden::use_service<other_service>(pool);
                  (void)ekiden::use_service<other_service>(mine);
                  return 0;
              });
              may_be_done = true;
              adder.join();
              return wrong;
          })
          == 0);
#endif
}

TEST_CASE("in the child, too, a service that is being added may use a service of another context") {
    struct inner_service final : ekiden::execution_context::service {
        explicit inner_service(ekiden::execution_context& owner) : service(owner) {}
    };
    static thread_pool* other = nullptr;
    struct outer_service final : ekiden::execution_context::service {
        explicit outer_service(ekiden::execution_context& owner) : service(owner) {}
        void added() noexcept override { (void)ekiden::use_service<inner_service>(*other); }
    };
    thread_pool pool({.threads = 1});
    thread_pool second({.threads = 1});
    other = &second;
    CHECK(exit_code_of_child([&] {
              (void)ekiden::use_service<outer_service>(pool);
              return ekiden::has_service<inner_service>(second) ? 0 : 1;
          })
          == 0);
}

TEST_CASE("the child finds no service of the parent, and the parent keeps its services") {
    struct some_service final : ekiden::execution_context::service {
        explicit some_service(ekiden::execution_context& owner) : service(owner) {}
    };
    thread_pool pool({.threads = 1});
    auto& mine = ekiden::use_service<some_service>(pool);
    CHECK(exit_code_of_child([&] {
              if (ekiden::has_service<some_service>(pool) || !mine.is_left_behind()) return 1;
              auto& fresh = ekiden::use_service<some_service>(pool);
              return &fresh != &mine && !fresh.is_left_behind() ? 0 : 2;
          })
          == 0);
    CHECK(&ekiden::use_service<some_service>(pool) == &mine);
    CHECK(!mine.is_left_behind());
}

namespace {

/// Memory in which each allocation has another address, so that coroutines use all lists of their context.
template <class T>
struct spreading_allocator {
    using value_type = T;

    explicit spreading_allocator(std::byte*& free) noexcept : next(&free) {}
    template <class U>
    spreading_allocator(const spreading_allocator<U>& other) noexcept : next(other.next) {}
    T* allocate(std::size_t count) {
        void* const here = *next;
        *next += ((count * sizeof(T) + 63) / 64 | 1) * 64;
        return static_cast<T*>(here);
    }
    void deallocate(T*, std::size_t) noexcept {}
    friend bool operator==(const spreading_allocator&, const spreading_allocator&) = default;

    std::byte** next;
};

/// A coroutine with a name so long that a thread which describes the coroutine almost always holds the lock
/// of the coroutine's list.
class described_coroutine {
public:
    template <ekiden::executor E>
    explicit described_coroutine(const E& where) {
        ekiden::co_spawn(
            where,
            [this]() -> ekiden::coroutine<> {
                co_await ekiden::async_wait(released);
                has_ended = true;
            },
            ekiden::detached, ekiden::spawn_options().name(name_.c_str()));
    }
    /// Begins to describe the coroutine, which must wait.
    void describe(ekiden::execution_context& context) {
        describer_ = std::thread([this, &context] {
            while (!is_over_) (void)ekiden::await_chains(context);
        });
    }
    void end() {
        is_over_ = true;
        describer_.join();
        released.set();
        while (!has_ended) std::this_thread::yield();
    }

    ekiden::event released;
    std::atomic<bool> has_ended{false};

private:
    const std::string name_ = std::string(std::size_t{4} << 20, 'n');
    std::atomic<bool> is_over_{false};
    std::thread describer_;
};

} // namespace

TEST_CASE("co_spawn() in the child waits for no lock of the parent's coroutines") {
    thread_pool pool({.threads = 1});
    described_coroutine described(pool.get_executor());
    pool.wait_idle();
    described.describe(pool);
    std::vector<std::byte> memory(std::size_t{1} << 18);
    for (int i = 0; i != 5; ++i) {
        std::this_thread::sleep_for(1ms);
        CHECK(exit_code_of_child([&] {
                  std::byte* free = memory.data();
                  for (int k = 0; k != 64; ++k) {
                      if (!throws_not_permitted([&] {
                              ekiden::co_spawn(
                                  pool, []() -> ekiden::coroutine<> { co_return; },
                                  ekiden::bind_allocator(spreading_allocator<std::byte>(free),
                                                         ekiden::detached));
                          }))
                          return 1;
                  }
                  described.released.set(); // the pool refuses the coroutine
                  return described.has_ended ? 2 : 0;
              })
              == 0);
    }
    described.end();
    pool.join();
}

TEST_CASE("a coroutine of the parent that ends in the child waits for no lock of the parent") {
#if !defined(EKIDEN_TSAN)
    if (!ekiden_test::can_child_start_threads()) return;
    described_coroutine described{ekiden::system_executor()};
    ekiden::default_pool().wait_idle();
    described.describe(ekiden::default_pool());
    for (int i = 0; i != 5; ++i) {
        std::this_thread::sleep_for(1ms);
        CHECK(exit_code_of_child([&] {
                  described.released.set(); // continues in the default pool of the child
                  while (!described.has_ended) std::this_thread::yield();
                  ekiden::default_pool().wait_idle();
                  return 0;
              })
              == 0);
    }
    described.end();
    ekiden::default_pool().wait_idle();
#endif
}

TEST_CASE("then() and set_value() in the child wait for no lock of the parent's continuations") {
    /// A continuation that keeps the lock of its list, because it is attached slowly.
    struct slow_continuation final : ekiden::detail::listed_continuation {
        slow_continuation() : listed_continuation(&attach, [](listed_continuation&) noexcept {}) {}
        static bool attach(listed_continuation& self) noexcept {
            auto& own = static_cast<slow_continuation&>(self);
            own.is_being_attached = true;
            while (!own.may_be_attached) std::this_thread::yield();
            return true;
        }
        std::atomic<bool> is_being_attached{false};
        std::atomic<bool> may_be_attached{false};
    };
    const auto is_canceled = [](ekiden::future<int>& one) {
        try {
            (void)one.get();
        } catch (const ekiden::operation_canceled&) {
            return true;
        }
        return false;
    };
    thread_pool pool({.threads = 1});
    std::deque<ekiden::promise<int>> promises;
    std::vector<ekiden::future<int>> continued;
    const auto add = [&] {
        continued.push_back(
            promises.emplace_back().get_future().then(pool.get_executor(), [](int n) { return n; }));
    };
    for (int i = 0; i != 100; ++i) add(); // in each list
    auto& lists = ekiden::use_service<ekiden::detail::continuations>(pool);
    slow_continuation slow;
    std::thread attacher([&] { (void)lists.add(slow); });
    while (!slow.is_being_attached) std::this_thread::yield();
    CHECK(exit_code_of_child([&] {
              for (int i = 0; i != 100; ++i) add();
              for (auto& each : promises) each.set_value(1);
              for (auto& each : continued) {
                  if (!is_canceled(each)) return 1;
              }
              return 0;
          })
          == 0);
    slow.may_be_attached = true;
    attacher.join();
    CHECK(slow.try_begin());
    {
        const ekiden::detail::continuations::use ends(lists, slow);
    }
    for (auto& each : promises) each.set_value(1);
    for (auto& each : continued) CHECK(each.get() == 1);
}

namespace {

/// A context whose executor runs each task at once, in the thread that posts it.
class immediate_context final : public ekiden::execution_context {
public:
    class executor_type : public ekiden::task_sink<executor_type> {
    public:
        explicit executor_type(immediate_context& context) noexcept : context_(&context) {}
        friend bool operator==(const executor_type&, const executor_type&) = default;

        [[nodiscard]] immediate_context& context() const noexcept { return *context_; }
        void on_work_started() const noexcept {}
        void on_work_finished() const noexcept {}
        [[nodiscard]] bool running_in_this_thread() const noexcept { return true; }
        bool accept(ekiden::task* given, ekiden::task_order) const {
            given->run();
            return true;
        }
        void report_unhandled(const char*) const noexcept {}

    private:
        immediate_context* context_;
    };

    ~immediate_context() override { shut_down_services(); }
};

/// Buries tasks in a context, beside so many waits that the lock of the buried coroutines is almost always
/// held.
class busy_burials {
public:
    explicit busy_burials(ekiden::execution_context& context)
        : service_(ekiden::use_service<ekiden::detail::coroutine_service>(context)) {
        for (int i = 0; i != 50'000; ++i) waits_.emplace_back(service_.buried());
        digger_ = std::thread([this] {
            while (!is_over_) {
                service_.bury(*new buried_task);
                service_.end_buried();
                ++rounds_;
            }
        });
        while (rounds_ < 3) std::this_thread::yield();
    }
    ~busy_burials() {
        is_over_ = true;
        digger_.join();
    }

private:
    struct buried_task final : ekiden::task {
        buried_task() noexcept : task(&answer) {}
        static const char* answer(ekiden::task* self, ekiden::task_request) {
            delete static_cast<buried_task*>(self);
            return nullptr;
        }
    };

    ekiden::detail::coroutine_service& service_;
    std::deque<ekiden::detail::root_wait> waits_;
    std::atomic<bool> is_over_{false};
    std::atomic<int> rounds_{0};
    std::thread digger_;
};

} // namespace

TEST_CASE("sync_wait() in the child waits for no lock of the parent's waits") {
    thread_pool pool({.threads = 1});
    const busy_burials busy(pool);
    for (int i = 0; i != 5; ++i) {
        std::this_thread::sleep_for(1ms);
        CHECK(exit_code_of_child([&] {
                  return throws_not_permitted([&] {
                      ekiden::sync_wait(pool.get_executor(), []() -> ekiden::coroutine<> { co_return; });
                  })
                             ? 0
                             : 1;
              })
              == 0);
    }
}

TEST_CASE("sync_wait() returns in the child if its coroutine has called fork()") {
    immediate_context context;
    const busy_burials busy(context);
    for (int i = 0; i != 5; ++i) {
        pid_t child = -1;
        ekiden::sync_wait(immediate_context::executor_type(context), [&]() -> ekiden::coroutine<> {
            std::this_thread::sleep_for(1ms); // so that another thread has the lock
            child = ::fork();
            if (child == 0) ::alarm(10);
            co_return;
        });
        if (child == 0) ::_exit(0);
        int status = -1;
        ::waitpid(child, &status, 0);
        CHECK(status == 0);
    }
}

TEST_CASE("the child destroys a pipeline that runs in the parent") {
    thread_pool pool({.threads = 1});
    std::atomic<bool> runs{false};
    std::atomic<bool> may_end{false};
    int left = 1;
    const auto make = [&] {
        return ekiden::pipeline(ekiden::in_order_stage([&]() -> std::optional<int> {
                                    return left-- > 0 ? std::optional(1) : std::nullopt;
                                }),
                                ekiden::parallel_stage([&](int) -> ekiden::coroutine<> {
                                    runs = true;
                                    while (!may_end) std::this_thread::yield();
                                    co_return;
                                }));
    };
    auto* const line = new auto(make());
    auto whole = line->start(pool);
    while (!runs) std::this_thread::yield();
    CHECK(exit_code_of_child([&] {
              delete line;
              return 0;
          })
          == 0);
    may_end = true;
    CHECK(whole.get());
    delete line;
}

TEST_CASE("in the child, the destructor of a pipeline waits for a run that has begun there") {
#if !defined(EKIDEN_TSAN)
    if (!ekiden_test::can_child_start_threads()) return;
    std::atomic<int> left{1};
    std::atomic<bool> has_begun{false};
    std::atomic<bool> has_ended{false};
    const auto make = [&] {
        return ekiden::pipeline(ekiden::in_order_stage([&]() -> std::optional<int> {
                                    return left-- > 0 ? std::optional(1) : std::nullopt;
                                }),
                                ekiden::parallel_stage([&](int) {
                                    has_begun = true;
                                    std::this_thread::sleep_for(50ms);
                                    has_ended = true;
                                }));
    };
    auto* const line = new auto(make());
    CHECK(exit_code_of_child([&] {
              thread_pool fresh({.threads = 1});
              (void)line->start(fresh);
              // The destructor stops the run: before the stage has begun, it may never begin.
              while (!has_begun) std::this_thread::yield();
              delete line;
              return has_ended ? 0 : 1;
          })
          == 0);
    delete line;
#endif
}

TEST_CASE("the child destroys a program's own context and waits for no lock of its services") {
    auto* const context = new immediate_context;
    described_coroutine described{immediate_context::executor_type(*context)};
    described.describe(*context);
    for (int i = 0; i != 5; ++i) {
        std::this_thread::sleep_for(1ms);
        CHECK(exit_code_of_child([&] {
                  delete context;
                  return 0;
              })
              == 0);
    }
    described.end();
    delete context;
}
