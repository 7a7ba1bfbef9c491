/// A thread that makes the blocking calls of a worker, one after the other.
///
/// Part: kafka. Used by: worker_driver. Private.
#pragma once

#include <ekiden/sync/event.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

class job_thread {
public:
    explicit job_thread(const char* name)
        : thread_(sys::start_thread("kafka::worker", name, [this, name] {
              sys::set_thread_name(name);
              run();
          })) {}
    /// Waits for the job that runs. Drops the others.
    ~job_thread() {
        {
            const std::lock_guard inside(lock_);
            is_ending_ = true;
        }
        work_.set();
        thread_.join();
    }
    job_thread(const job_thread&) = delete;
    job_thread& operator=(const job_thread&) = delete;

    /// Appends a job, which must not throw.
    void add(std::function<void()> job) {
        {
            const std::lock_guard inside(lock_);
            jobs_.push_back(std::move(job));
        }
        work_.set();
    }

private:
    void run() {
        while (true) {
            work_.wait();
            work_.reset(); // before the jobs are read
            while (true) {
                std::function<void()> job;
                {
                    const std::lock_guard inside(lock_);
                    if (is_ending_) return;
                    if (jobs_.empty()) break;
                    job = std::move(jobs_.front());
                    jobs_.pop_front();
                }
                job();
            }
        }
    }

    sys::slow_lock lock_;
    std::deque<std::function<void()>> jobs_;
    bool is_ending_ = false;
    event work_;
    sys::thread thread_; // the last member, because the thread uses the others
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
