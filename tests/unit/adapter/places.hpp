/// The places where the library runs work, each with its executor: what the adapter's tests are repeated for.
#pragma once

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ekiden_test {

/// What handlers have thrown, as text.
class thrown_list {
public:
    void add(const std::exception_ptr& error) {
        const std::lock_guard guard(lock_);
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            all_.emplace_back(e.what());
        }
    }
    [[nodiscard]] std::vector<std::string> all() const { return all_; }

private:
    std::mutex lock_;
    std::vector<std::string> all_;
};

/// finish() returns when all work is done, what others have announced too.
class pool_place {
public:
    void finish() { pool_->join(); }
    /// Runs what is there, and returns when that is done and the flag is set.
    void run_until(const std::atomic<bool>& flag) {
        while (!flag) std::this_thread::yield();
        pool_->wait_idle();
    }
    void run_until_set(const std::atomic<bool>& flag) {
        while (!flag) std::this_thread::yield();
    }
    /// Destroys the context; nothing more runs.
    void end() {
        pool_->stop();
        pool_.reset();
    }
    thrown_list thrown;

protected:
    std::unique_ptr<ekiden::thread_pool> pool_ =
        std::make_unique<ekiden::thread_pool>(ekiden::thread_pool_options{
            .threads = 2, .on_unhandled_exception = [this](const std::exception_ptr& e, std::string_view) {
                thrown.add(e);
            }});
};

template <int Hint>
class loop_place {
public:
    void finish() {
        for (bool ends = false; !ends;) {
            try {
                loop_->run();
                ends = true;
            } catch (...) {
                thrown.add(std::current_exception());
            }
        }
    }
    void run_until(const std::atomic<bool>& flag) {
        while (!flag) loop_->poll();
    }
    /// One at a time: where operations end faster than they are run, a poll never returns.
    void run_until_set(const std::atomic<bool>& flag) {
        while (!flag) loop_->poll_one();
    }
    void end() { loop_.reset(); }
    thrown_list thrown;

protected:
    std::unique_ptr<ekiden::loop_context> loop_ = std::make_unique<ekiden::loop_context>(Hint);
};

struct on_pool : pool_place {
    static constexpr bool is_serial = false;
    [[nodiscard]] auto executor() { return pool_->get_executor(); }
};
struct on_strand : pool_place {
    static constexpr bool is_serial = true;
    ekiden::strand<ekiden::thread_pool::executor_type> serial{pool_->get_executor()};
    [[nodiscard]] auto executor() { return serial; }
};
struct on_lane : pool_place {
    static constexpr bool is_serial = true;
    ekiden::lanes<int> all{pool_->get_executor()};
    [[nodiscard]] auto executor() { return all.get_executor(7); }
};
struct on_lane_handle : pool_place {
    static constexpr bool is_serial = true;
    ekiden::lanes<int, ekiden::thread_pool::executor_type> all{pool_->get_executor()};
    [[nodiscard]] auto executor() { return all.lane(7).get_executor(); }
};
struct on_any : pool_place {
    static constexpr bool is_serial = false;
    [[nodiscard]] auto executor() { return ekiden::any_executor(pool_->get_executor()); }
};
struct on_loop : loop_place<1> {
    static constexpr bool is_serial = true;
    [[nodiscard]] auto executor() { return loop_->get_executor(); }
};
struct on_shared_loop : loop_place<ekiden::loop_context::many> {
    static constexpr bool is_serial = true; // here: one thread runs it
    [[nodiscard]] auto executor() { return loop_->get_executor(); }
};
struct on_loop_strand : loop_place<1> {
    static constexpr bool is_serial = true;
    ekiden::strand<ekiden::loop_context::executor_type> serial{loop_->get_executor()};
    [[nodiscard]] auto executor() { return serial; }
};

} // namespace ekiden_test

#define EKIDEN_ALL_PLACES                                                                                    \
    ekiden_test::on_pool, ekiden_test::on_strand, ekiden_test::on_lane, ekiden_test::on_any,                 \
        ekiden_test::on_loop, ekiden_test::on_shared_loop, ekiden_test::on_loop_strand

TYPE_TO_STRING_AS("pool", ekiden_test::on_pool);
TYPE_TO_STRING_AS("strand", ekiden_test::on_strand);
TYPE_TO_STRING_AS("lane", ekiden_test::on_lane);
TYPE_TO_STRING_AS("any_executor", ekiden_test::on_any);
TYPE_TO_STRING_AS("loop", ekiden_test::on_loop);
TYPE_TO_STRING_AS("shared loop", ekiden_test::on_shared_loop);
TYPE_TO_STRING_AS("strand of a loop", ekiden_test::on_loop_strand);
