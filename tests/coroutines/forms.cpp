// Which forms of co_await the compiler handles correctly. g++ 12 loses a resume in one form and destroys
// temporaries twice in three. The library, its tests and its examples use none of these. Exits with 0 if the
// compiler behaves as recorded here, so a different compiler is noticed.
#include "driver.hpp"

#include <ekiden/async/coroutine.hpp>

#include <cstdio>
#include <utility>

namespace {

#if defined(__GNUC__) && !defined(__clang__)
constexpr bool is_gcc_12 = __GNUC__ == 12;
#else
constexpr bool is_gcc_12 = false;
#endif

/// Counts its living objects.
struct probe {
    static inline int living = 0;
    probe() noexcept { ++living; }
    probe(const probe&) noexcept { ++living; }
    probe& operator=(const probe&) = delete;
    ~probe() { --living; }
};
struct braced {
    probe member;
};
struct made {
    explicit made(const probe& given) : member(given) {}
    probe member;
};

ekiden::coroutine<bool> yes() { co_return true; }
template <class F>
ekiden::coroutine<> takes(F&& f) {
    f();
    co_return;
}
template <class T>
ekiden::coroutine<> takes_object(const T&) {
    co_return;
}

ekiden::coroutine<bool> in_condition() {
    if (co_await yes()) co_return true;
    co_return false;
}
ekiden::coroutine<bool> before_condition() {
    const bool is_so = co_await yes();
    if (is_so) co_return true;
    co_return false;
}
ekiden::coroutine<bool> in_condition_behind_a_local() {
    int local = 1;
    if (co_await yes()) co_return local == 1;
    co_return false;
}

ekiden::coroutine<> capture_by_value(const probe& p) {
    co_await takes([p] {});
}
ekiden::coroutine<> capture_by_reference(const probe& p) {
    co_await takes([&p] { (void)p; });
}
ekiden::coroutine<> named_and_moved(const probe& p) {
    auto f = [p] {};
    co_await takes(std::move(f));
}
ekiden::coroutine<> in_its_own_statement(const probe& p) {
    auto task = takes_object(made(p));
    co_await std::move(task);
}
ekiden::coroutine<> braced_aggregate(const probe& p) { co_await takes_object(braced{p}); }
ekiden::coroutine<> by_constructor(const probe& p) { co_await takes_object(made(p)); }

ekiden::coroutine<> choice_of_temporaries(const probe& p) {
    co_await takes_object(p.living > 0 ? made(p) : made(p));
}
ekiden::coroutine<probe> another(const probe& p) { co_return p; }
ekiden::coroutine<> choice_of_awaits(const probe& p) {
    const probe chosen = p.living > 0 ? co_await another(p) : co_await another(p);
    co_await takes_object(chosen);
}
ekiden::coroutine<> choice_in_its_own_statement(const probe& p) {
    const made chosen = p.living > 0 ? made(p) : made(p);
    co_await takes_object(chosen);
}

int failures = 0;

void expect(const char* form, bool is_right, bool is_known_right) {
    std::printf("%-32s %s\n", form, is_right ? "right" : "WRONG");
    if (is_right == is_known_right) return;
    std::printf("    this compiler was known to get it %s\n", is_known_right ? "right" : "wrong");
    ++failures;
}

driver run(ekiden::coroutine<bool> tried, bool& result) { result = co_await std::move(tried); }
driver run(ekiden::coroutine<> tried) { co_await std::move(tried); }

bool returns_true(ekiden::coroutine<bool> tried) {
    bool result = false;
    run(std::move(tried), result);
    return result;
}
bool destroys_once(ekiden::coroutine<> (*form)(const probe&)) {
    probe::living = 0;
    {
        const probe given;
        run(form(given));
    }
    return probe::living == 0;
}

} // namespace

int main() {
    expect("await in a condition", returns_true(in_condition()), !is_gcc_12);
    expect("the same behind a local", returns_true(in_condition_behind_a_local()), true);
    expect("await before the condition", returns_true(before_condition()), true);
    expect("lambda, captures by value", destroys_once(&capture_by_value), !is_gcc_12);
    expect("lambda, captures by reference", destroys_once(&capture_by_reference), true);
    expect("lambda, named and moved", destroys_once(&named_and_moved), true);
    expect("braced aggregate", destroys_once(&braced_aggregate), !is_gcc_12);
    expect("object by its constructor", destroys_once(&by_constructor), true);
    expect("?: of temporaries", destroys_once(&choice_of_temporaries), !is_gcc_12);
    expect("?: of awaits", destroys_once(&choice_of_awaits), !is_gcc_12);
    expect("?: in its own statement", destroys_once(&choice_in_its_own_statement), true);
    expect("task in its own statement", destroys_once(&in_its_own_statement), true);
    return failures == 0 ? 0 : 1;
}
