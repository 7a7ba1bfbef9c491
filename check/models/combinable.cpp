// combinable: two threads add their values to the same bucket, and each thread finds its own value again.
#include <check/engine/model.hpp>
#include <ekiden/fork/combinable.hpp>
#include <ekiden/sys/next_number.hpp>
#include <ekiden/sys/thread.hpp>

#include <functional>

namespace combinable_models {

namespace {

using namespace ekiden;

/// Gives the calling thread its number, and uses up numbers, so that the next thread gets the same bucket.
void number_this_thread() {
    combinable<int> other;
    (void)other.local();
    for (int i = 0; i != 31; ++i) (void)sys::next_number();
}

void values_of_two_threads() {
    number_this_thread();
    combinable<int> values;
    sys::thread second([&] {
        values.local() += 1;
        values.local() += 2;
    });
    values.local() += 10;
    values.local() += 20; // the value of the other thread may lie before the own value
    second.join();
    check::that(values.size() == 2, "each thread has one value");
    check::that(values.combine(std::plus<>()) == 33, "no value is lost");
}

} // namespace

EKIDEN_MODEL(combinable_bucket, .about = "two threads add their values to the same bucket",
             .preemptions = 3) {
    values_of_two_threads();
}

EKIDEN_MODEL(combinable_bucket_lost, .about = "an added value hides the other value", .preemptions = 3,
             .mutant = "combinable_loses_the_others") {
    values_of_two_threads();
}

} // namespace combinable_models
