// A thread of a context that a task occupies until the test lets it go.
#pragma once

#include <latch>
#include <memory>
#include <utility>

namespace ekiden_test {

/// A task that occupies a thread until go() is called. The constructor waits until the task has begun.
class held_thread {
public:
    /// Posts the task to a pool or an executor.
    template <class Place>
    explicit held_thread(Place&& place) {
        place.post([both = both_] {
            both->started.count_down();
            both->go.wait();
        });
        both_->started.wait();
    }
    ~held_thread() { go(); }
    held_thread(const held_thread&) = delete;
    held_thread& operator=(const held_thread&) = delete;

    void go() {
        if (!std::exchange(is_gone_, true)) both_->go.count_down();
    }

private:
    struct latches {
        std::latch started{1};
        std::latch go{1};
    };

    std::shared_ptr<latches> both_ = std::make_shared<latches>();
    bool is_gone_ = false;
};

} // namespace ekiden_test
