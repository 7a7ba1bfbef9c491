#include <ekiden/queue/task.hpp>

#include <tests/unit/failing_allocations.hpp>

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

using ekiden::make_task;
using ekiden::task;

namespace {

/// Counts how many of its kind are alive and called; copies may be told to throw.
template <bool NothrowMove>
struct counted {
    struct counts {
        int alive = 0;
        int called = 0;
        int until_copy_throws = -1;
    };

    explicit counted(counts& all) : all_(&all) { ++all_->alive; }
    counted(const counted& other) : all_(other.all_) {
        if (all_->until_copy_throws >= 0 && all_->until_copy_throws-- == 0) throw std::logic_error("copy");
        ++all_->alive;
    }
    counted(counted&& other) noexcept(NothrowMove) : all_(other.all_) { ++all_->alive; }
    ~counted() { --all_->alive; }
    void operator()() { ++all_->called; }

    counts* all_;
};

template <bool NothrowMove>
void check_lifetime() {
    typename counted<NothrowMove>::counts all;
    {
        const counted<NothrowMove> original(all);
        task* const runs = make_task(original);
        CHECK(all.alive == 2);
        runs->run();
        CHECK(all.alive == 1);
        CHECK(all.called == 1);
        make_task(original)->abandon();
        CHECK(all.alive == 1);
        CHECK(all.called == 1);
        make_task(counted<NothrowMove>(original))->run();
        CHECK(all.alive == 1);
        CHECK(all.called == 2);
    }
    CHECK(all.alive == 0);
}

void plain_function() {}

struct with_type_name {
    void operator()() const {}
};

template <class F>
std::string refusal(F f) {
    try {
        make_task(f, "post")->abandon();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "accepted";
}

} // namespace

TEST_CASE("The callable of a task is destroyed once whether the task is run or abandoned") {
    check_lifetime<true>();
    check_lifetime<false>(); // called in place, as a move may throw
}

TEST_CASE("An exception of the callable passes through and the task is gone") {
    const auto throws = [](auto extra) {
        const auto witness = std::make_shared<int>(0);
        make_task([extra] { (void)extra; })->run(); // the thread's first task brings memory that stays
        const auto live = ekiden_test::live_allocation_count();
        const std::size_t footprint = ekiden::recycler::footprint();
        for (int i = 0; i != 1000; ++i) {
            task* const made = make_task([witness, extra]() {
                (void)extra;
                throw std::runtime_error("from the task");
            });
            CHECK(witness.use_count() > 1);
            CHECK_THROWS_WITH_AS(made->run(), "from the task", std::runtime_error);
            CHECK(witness.use_count() == 1);
        }
        CHECK(ekiden_test::live_allocation_count() == live);
        CHECK(ekiden::recycler::footprint() <= footprint + 64 * 1024);
    };
    throws(0);
    throws(std::array<char, 200>());
    throws(std::array<char, 2000>());
    counted<false>::counts all;
    throws(counted<false>(all));
    CHECK(all.alive == 0);
}

TEST_CASE("A callable that can only be moved makes a task") {
    int result = 0;
    auto number = std::make_unique<int>(42);
    make_task([number = std::move(number), &result] { result = *number; })->run();
    CHECK(result == 42);
}

TEST_CASE("A copy that throws while a task is made leaves nothing behind") {
    counted<false>::counts all;
    make_task([] {})->run(); // the thread's first task brings memory that stays
    const auto live = ekiden_test::live_allocation_count();
    {
        const counted<false> original(all);
        const auto large = [original, room = std::array<char, 1000>()] { (void)room; };
        task* const made = make_task(original);
        all.until_copy_throws = 0;
        CHECK_THROWS_AS((void)make_task(original), std::logic_error);
        all.until_copy_throws = 0;
        CHECK_THROWS_AS((void)make_task(large), std::logic_error);
        CHECK(all.alive == 3); // the original, that in `large`, and that of the task made before
        made->abandon();
    }
    CHECK(ekiden_test::live_allocation_count() == live);
}

TEST_CASE("Callables that are too large or too strictly aligned for a node make tasks") {
    struct alignas(256) strict {
        std::uintptr_t* address;
        void operator()() { *address = reinterpret_cast<std::uintptr_t>(this); }
    };
    const auto live = ekiden_test::live_allocation_count();
    std::uintptr_t address = 1;
    make_task(strict{&address})->run();
    CHECK(address % 256 == 0);
    int sum = 0;
    std::array<int, 1000> numbers;
    numbers.fill(3);
    make_task([numbers, &sum] {
        for (const int n : numbers) sum += n;
    })->run();
    CHECK(sum == 3000);
    make_task([numbers] { (void)numbers; })->abandon();
    CHECK(ekiden_test::live_allocation_count() == live);
}

TEST_CASE("Tasks with callables of up to 240 bytes need no allocation once memory has been recycled") {
    int sum = 0;
    const auto work = [&] {
        for (int i = 0; i != 100; ++i) {
            make_task([&sum] { ++sum; })->run();
            make_task([&sum, room = std::array<char, 40>()] { sum += 1 + room[0]; })->run();
            make_task([&sum, room = std::array<char, 232>()] { sum += 1 + room[0]; })->run();
            make_task([room = std::array<char, 240>()] { (void)room; })->abandon();
        }
    };
    work();
    const auto allocations = ekiden_test::allocation_count();
    work();
    CHECK(ekiden_test::allocation_count() == allocations);
    CHECK(sum == 600);
}

TEST_CASE("The task's memory can be used again by what its callable makes") {
    const void* inner = nullptr;
    task* const outer = make_task([&inner] {
        task* const next = make_task([] {});
        inner = next;
        next->abandon();
    });
    outer->run();
    CHECK(inner == outer);
}

TEST_CASE("A callable that is empty is refused with a message that names it") {
    const char* const expected = "post: the callable is empty, allowed is one that can be called";
    CHECK(refusal(std::function<void()>()) == expected);
    CHECK(refusal(std::function<int()>(nullptr)) == expected);
    CHECK(refusal(static_cast<void (*)()>(nullptr)) == expected);
    CHECK(refusal(std::function<void()>(&plain_function)) == "accepted");
    CHECK(refusal(&plain_function) == "accepted");
    CHECK(refusal([] {}) == "accepted");
}

TEST_CASE("Functions and references to callables make tasks") {
    counted<true>::counts all;
    counted<true> callable(all);
    make_task(plain_function)->run();
    make_task(std::ref(callable))->run();
    CHECK(all.called == 1);
    CHECK(all.alive == 1);
}

TEST_CASE("A task says the name of its callable's type also when it is gone") {
    task* const made = make_task(with_type_name());
    const task::function type = made->type();
    made->run();
    const std::string_view name = ekiden::described_type(type(nullptr, ekiden::task_request::describe));
    CHECK(name.ends_with("with_type_name"));
    CHECK(name.find('=') == std::string_view::npos);
    CHECK(name.find(']') == std::string_view::npos);
    CHECK(ekiden::described_type(ekiden::type_description<int>()) == "int");
    CHECK(ekiden::described_type(ekiden::type_description<int[3]>()).starts_with("int"));
    CHECK(ekiden::described_type(ekiden::type_description<int[3]>()).ends_with("[3]"));
}

TEST_CASE("The name of a lambda's type says that it is one") {
    const auto lambda = [] {};
    const std::string_view name = ekiden::described_type(ekiden::type_description<decltype(lambda)>());
    CAPTURE(name);
    CHECK(name.find("lambda") != std::string_view::npos);
}

TEST_CASE("A description without a type name is passed on as it is") {
    CHECK(ekiden::described_type("") == "");
    CHECK(ekiden::described_type("something else") == "something else");
    CHECK(ekiden::described_type("T = no end") == "T = no end");
}
