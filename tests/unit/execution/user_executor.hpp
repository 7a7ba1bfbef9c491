// An execution context and an executor that know nothing of tasks: a program's own, by the interface of the
// Networking TS alone.
#pragma once

#include <ekiden/execution/execution_context.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

// Runs nothing by itself: run() does, on the calling thread.
class users_context : public ekiden::execution_context {
public:
    class executor_type;
    executor_type get_executor() noexcept;

    ~users_context() override { shut_down_services(); }

    // How many functions have been called.
    int run() {
        int called = 0;
        const bool was_inside = std::exchange(is_inside_, true);
        while (const std::shared_ptr<call> next = take()) {
            ++called;
            next->run();
        }
        is_inside_ = was_inside;
        return called;
    }
    void drop_all() {
        while (take() != nullptr) {
        }
    }

    std::atomic<int> work{0};
    std::atomic<int> posts{0};
    std::atomic<int> defers{0};

private:
    struct call {
        virtual ~call() = default;
        virtual void run() = 0;
    };
    template <class F>
    struct call_of : call {
        explicit call_of(F&& given) : f(std::move(given)) {}
        void run() override { f(); }
        F f;
    };
    template <class F>
    void add(F f) {
        const std::lock_guard guard(mutex_);
        queue_.push_back(std::make_shared<call_of<F>>(std::move(f)));
    }
    std::shared_ptr<call> take() {
        const std::lock_guard guard(mutex_);
        if (queue_.empty()) return nullptr;
        const std::shared_ptr<call> first = std::move(queue_.front());
        queue_.pop_front();
        return first;
    }

    std::mutex mutex_; // posts may come from other threads

    std::deque<std::shared_ptr<call>> queue_;
    bool is_inside_ = false;
};

class users_context::executor_type {
public:
    explicit executor_type(users_context& context) noexcept : context_(&context) {}
    users_context& context() const noexcept { return *context_; }
    void on_work_started() const noexcept { ++context_->work; }
    void on_work_finished() const noexcept { --context_->work; }
    template <class F, class A>
    void dispatch(F&& f, const A& a) const {
        if (context_->is_inside_)
            std::decay_t<F>(std::forward<F>(f))();
        else
            post(std::forward<F>(f), a);
    }
    template <class F, class A>
    void post(F&& f, const A&) const {
        ++context_->posts;
        context_->add(std::decay_t<F>(std::forward<F>(f)));
    }
    template <class F, class A>
    void defer(F&& f, const A&) const {
        ++context_->defers;
        context_->add(std::decay_t<F>(std::forward<F>(f)));
    }
    friend bool operator==(const executor_type&, const executor_type&) = default;

private:
    users_context* context_;
};

inline users_context::executor_type users_context::get_executor() noexcept { return executor_type(*this); }
