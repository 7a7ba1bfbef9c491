/// A bounded buffer with named states: empty, some, full. Then a buffer with a high and a low mark, which
/// refines the first one without changing it. Prints the refined table as a diagram.
#include <ekiden/sync.hpp>

#include <cstddef>
#include <deque>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace {

enum class fill { empty, some, full };
enum class fill_op { put, get };

constexpr auto fill_table = ekiden::make_state_table<fill, fill_op>(
    fill::empty, {{fill_op::put, {fill::empty, fill::some}, {fill::some, fill::full}},
                  {fill_op::get, {fill::some, fill::full}, {fill::empty, fill::some}}});

/// Works with any mutex that has the operations of fill_table.
template <class Mutex = ekiden::state_mutex<fill_table>>
class text_buffer {
public:
    template <class... Args>
    explicit text_buffer(std::size_t capacity, Args&&... args)
        : mutex_(std::forward<Args>(args)...), capacity_(capacity) {}

    void put(std::string text) {
        auto inside = mutex_.template enter<fill_op::put>(); // waits while the buffer is full
        texts_.push_back(std::move(text));
        inside.leave(texts_.size() == capacity_ ? fill::full : fill::some);
    }
    std::string get() {
        auto inside = mutex_.template enter<fill_op::get>(); // waits while it is empty
        std::string text = std::move(texts_.front());
        texts_.pop_front();
        inside.leave(texts_.empty() ? fill::empty : fill::some);
        return text;
    }

protected:
    Mutex mutex_;
    std::size_t capacity_;
    std::deque<std::string> texts_;
};

// The parent's "some" has two parts here: while filling, and while draining from the high mark.
enum class mark { empty, filling, draining, full };
enum class mark_op { put_in_turn };

constexpr auto mark_table = ekiden::make_refined_table<fill_table, mark, mark_op>(
    mark::empty,
    {{fill::empty, mark::empty}, {fill::some, {mark::filling, mark::draining}}, {fill::full, mark::full}},
    {{mark_op::put_in_turn, {mark::empty, mark::filling}, {mark::filling, mark::draining, mark::full}}});

/// Chooses the part of "some" when an operation of the parent leaves with "some".
struct marks {
    const std::deque<std::string>* texts;
    std::size_t low, high;
    bool* draining;

    mark operator()(fill whole) const noexcept {
        *draining = texts->size() >= high || (*draining && texts->size() > low);
        if (whole == fill::some) return *draining ? mark::draining : mark::filling;
        return whole == fill::empty ? mark::empty : mark::full;
    }
};

class marked_buffer : public text_buffer<ekiden::state_mutex<mark_table, marks>> {
public:
    marked_buffer(std::size_t low, std::size_t high, std::size_t capacity)
        : text_buffer(capacity, marks{&texts_, low, high, &draining_}) {}

    /// Like put(), but after the high mark was reached, waits until the low mark is reached.
    void put_in_turn(std::string text) {
        auto inside = mutex_.enter<mark_op::put_in_turn>();
        texts_.push_back(std::move(text));
        inside.leave(texts_.size() == capacity_ ? fill::full : fill::some);
    }

private:
    bool draining_ = false;
};

} // namespace

int main() {
    marked_buffer buffer(2, 6, 8);
    std::size_t letters = 0;
    {
        const std::jthread patient([&] {
            for (int i = 0; i < 500; ++i) buffer.put_in_turn("later");
        });
        const std::jthread urgent([&] {
            for (int i = 0; i < 500; ++i) buffer.put("now");
        });
        for (int i = 0; i < 1'000; ++i) letters += buffer.get().size();
    }
    std::cout << ekiden::state_diagram(mark_table, "marked_buffer");
    return letters == 500 * 5 + 500 * 3 ? 0 : 1;
}
