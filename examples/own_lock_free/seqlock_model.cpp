#include "seqlock.hpp"

#include <ekiden/check/model.hpp>

using namespace ekiden;

namespace {

void a_pair_is_written_and_read() {
    seqlock<int, 2> pair;
    checkable::thread writer([&] {
        pair.write({1, 1});
        pair.write({2, 2});
    });
    for (int last = 0, i = 0; i < 2; ++i) {
        const auto [a, b] = pair.read();
        check::that(a == b, "both halves are of one write");
        check::that(a >= last, "a later read sees no earlier write");
        last = a;
    }
    writer.join();
}

} // namespace

EKIDEN_MODEL(seqlock_is_not_torn, .about = "two writes, two reads", .preemptions = 2) {
    a_pair_is_written_and_read();
}

EKIDEN_MODEL(seqlock_reader_without_fence, .about = "https://github.com/python/cpython/pull/121388",
             .mutant = "reader_without_fence") {
    a_pair_is_written_and_read();
}

EKIDEN_MODEL(seqlock_writer_without_fence, .about = "https://github.com/python/cpython/pull/121388",
             .mutant = "writer_without_fence") {
    a_pair_is_written_and_read();
}
