/// A program's own types for the library's extension points: an executor, an allocator, a handler with an
/// associated executor, a completion token. None of them changes a header of ekiden.
#include <ekiden/execution.hpp>
#include <ekiden/pool.hpp>

#include <array>
#include <cstddef>
#include <iostream>
#include <memory>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

/// The functions of a user interface run on its own thread, once per frame.
class frame_context : public ekiden::execution_context {
public:
    class executor_type {
    public:
        explicit executor_type(frame_context& frames) noexcept : frames_(&frames) {}

        frame_context& context() const noexcept { return *frames_; }
        void on_work_started() const noexcept {}
        void on_work_finished() const noexcept {}

        template <class F, class Allocator>
        void post(F&& f, const Allocator&) const {
            frames_->next_.push(std::make_unique<call_of<std::decay_t<F>>>(std::forward<F>(f)));
        }
        template <class F, class Allocator>
        void defer(F&& f, const Allocator& allocator) const {
            post(std::forward<F>(f), allocator);
        }
        template <class F, class Allocator>
        void dispatch(F&& f, const Allocator& allocator) const { // always in the next frame
            post(std::forward<F>(f), allocator);
        }
        friend bool operator==(const executor_type&, const executor_type&) = default;

    private:
        frame_context* frames_;
    };

    frame_context() = default;
    ~frame_context() override { shut_down_services(); } // such as timers, which other code may use on it

    executor_type get_executor() noexcept { return executor_type(*this); }

    void draw_frame() {
        for (; !next_.empty(); next_.pop()) next_.front()->run();
    }

private:
    struct call {
        virtual ~call() = default;
        virtual void run() = 0;
    };
    template <class F>
    struct call_of final : call {
        explicit call_of(F given) : f(std::move(given)) {}
        void run() override { f(); }
        F f;
    };
    std::queue<std::unique_ptr<call>> next_;
};

/// Memory for one handler at a time, for example of a connection.
class one_place {
public:
    void* take(std::size_t bytes) {
        if (is_taken_ || bytes > memory_.size()) return ::operator new(bytes);
        is_taken_ = true;
        return memory_.data();
    }
    void give_back(void* place) {
        if (place == memory_.data())
            is_taken_ = false;
        else
            ::operator delete(place);
    }
    [[nodiscard]] bool is_taken() const { return is_taken_; }

private:
    alignas(std::max_align_t) std::array<std::byte, 256> memory_{};
    bool is_taken_ = false;
};

template <class T>
struct one_place_allocator {
    using value_type = T;
    explicit one_place_allocator(one_place& chosen) : place(&chosen) {}
    template <class U>
    one_place_allocator(const one_place_allocator<U>& other) : place(other.place) {} // NOLINT: converts
    T* allocate(std::size_t n) { return static_cast<T*>(place->take(n * sizeof(T))); }
    void deallocate(T* memory, std::size_t) { place->give_back(memory); }
    friend bool operator==(const one_place_allocator&, const one_place_allocator&) = default;

    one_place* place;
};

/// A handler that names its executor and its allocator.
struct show_result {
    using executor_type = frame_context::executor_type;
    using allocator_type = one_place_allocator<void>;

    executor_type get_executor() const noexcept { return frames; }
    allocator_type get_allocator() const noexcept { return memory; }
    void operator()() const { *shown = true; }

    executor_type frames;
    allocator_type memory;
    bool* shown;
};

/// A completion token. The operation returns nothing and counts its completions.
struct count_into {
    int* ended;
};

} // namespace

template <class... Args>
class ekiden::async_result<count_into, void(Args...)> {
public:
    template <class Initiation, class... InitiationArgs>
    static void initiate(Initiation&& initiation, count_into token, InitiationArgs&&... args) {
        std::forward<Initiation>(initiation)([ended = token.ended](Args...) { ++*ended; },
                                             std::forward<InitiationArgs>(args)...);
    }
};

int main() {
    ekiden::thread_pool pool(2);
    frame_context frames;
    one_place memory;
    bool was_shown = false;

    // Posted to the pool, which passes it to the handler's executor.
    ekiden::post(pool, show_result{frames.get_executor(), one_place_allocator<void>(memory), &was_shown});
    pool.wait_idle();
    frames.draw_frame();
    std::cout << "shown with a frame: " << was_shown << ", memory in use: " << memory.is_taken() << '\n';

    // Parts of the library run on the program's executor: a strand, and the future of a function.
    const ekiden::strand turns(frames.get_executor());
    auto answer = ekiden::post(turns, ekiden::use_future([] { return 42; }));
    frames.draw_frame();
    std::cout << "from the strand: " << answer.get() << '\n';

    int ended = 0;
    for (int i = 0; i < 3; ++i) ekiden::post(frames, count_into{&ended});
    frames.draw_frame();
    std::cout << "ended: " << ended << '\n';
    return was_shown && !memory.is_taken() && ended == 3 ? 0 : 1;
}
