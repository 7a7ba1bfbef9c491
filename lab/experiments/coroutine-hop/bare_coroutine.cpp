#include <lab/experiments/coroutine-hop/coroutine_hop.hpp>
#include <lab/peers/row.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace lab::coroutine_hop {
namespace {

// The minimum that a lazy coroutine needs.
class bare {
public:
    struct promise_type {
        std::uint64_t result = 0;
        std::coroutine_handle<> parent;

        bare get_return_object() { return bare(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        auto final_suspend() noexcept {
            struct awaiter {
                bool await_ready() noexcept { return false; }
                std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
                    const std::coroutine_handle<> to = ended.promise().parent;
                    if (to) return to;
                    return std::noop_coroutine();
                }
                void await_resume() noexcept {}
            };
            return awaiter();
        }
        void return_value(std::uint64_t value) { result = value; }
        [[noreturn]] void unhandled_exception() { std::terminate(); }
    };

    bare(bare&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
    bare& operator=(bare&&) = delete;
    ~bare() {
        if (frame_) frame_.destroy();
    }

    void start() { frame_.resume(); }
    [[nodiscard]] std::uint64_t result() const { return frame_.promise().result; }

    auto operator co_await() && noexcept {
        struct awaiter {
            std::coroutine_handle<promise_type> child;
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept {
                child.promise().parent = parent;
                return child;
            }
            std::uint64_t await_resume() noexcept { return child.promise().result; }
        };
        return awaiter{frame_};
    }

private:
    explicit bare(std::coroutine_handle<promise_type> frame) : frame_(frame) {}

    std::coroutine_handle<promise_type> frame_;
};

bare child(std::uint64_t number) { co_return answer(number); }

bare ask(std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t found = co_await child(i);
        sum += found;
    }
    co_return sum;
}

class bare_coroutine {
public:
    static constexpr peers::row row{"bare-coroutine", "a bare coroutine", 90};

    explicit bare_coroutine(unsigned) {}

    void start_asking(std::uint64_t count, std::uint64_t& sum) {
        asking_.emplace(ask(count));
        sum_ = &sum;
    }
    void run() {
        asking_->start();
        *sum_ = asking_->result();
    }
    void restart() { asking_.reset(); }

private:
    std::optional<bare> asking_;
    std::uint64_t* sum_ = nullptr;
};

const bool added = peers::add_row<bare_coroutine>("coroutine-hop", &run_awaits<bare_coroutine>,
                                                  "no executor, no stop: the least there is", false);

} // namespace
} // namespace lab::coroutine_hop
