// trace_ring: a reader gets complete records, and each record has the number that the reader expects, however
// often the writer wraps around.
#include <check/engine/model.hpp>
#include <ekiden/observe/detail/trace_ring.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>
#include <vector>

namespace trace_ring_models {

using namespace ekiden;

namespace {

trace_record numbered(std::uint64_t n) { return {n + 100, 2 * n}; }

void expect_numbered(const std::vector<trace_record>& found, std::uint64_t first) {
    for (std::uint64_t i = 0; i != found.size(); ++i) {
        const trace_record expected = numbered(first + i);
        check::that(found[i].first == expected.first, "the first word is that of the record");
        check::that(found[i].second == expected.second, "the second word is that of the record");
    }
}

} // namespace

EKIDEN_MODEL(trace_ring_overwritten, .about = "what is overwritten while it is copied is thrown away",
             .preemptions = 4) {
    trace_ring ring(2);
    ring.write(numbered(0));
    ring.write(numbered(1));
    sys::thread writer([&] {
        ring.write(numbered(2));
        ring.write(numbered(3));
    });
    std::vector<trace_record> found;
    const std::uint64_t first = ring.copy(0, found);
    expect_numbered(found, first);
    writer.join();
    found.clear();
    check::that(ring.copy(0, found) == 3 && found.size() == 1, "all but the place of the next record");
    expect_numbered(found, 3);
}

EKIDEN_MODEL(trace_ring_fresh,
             .about = "a record that is counted is whole, and what came before it is visible",
             .preemptions = 4) {
    trace_ring ring(4);
    sys::cell<int> note{0};
    sys::thread writer([&] {
        note.write(1);
        ring.write(numbered(0));
        ring.write(numbered(1));
    });
    std::vector<trace_record> found;
    const std::uint64_t first = ring.copy(0, found);
    expect_numbered(found, first);
    if (!found.empty()) check::that(note.read() == 1, "what the writer did before is visible");
    writer.join();
}

} // namespace trace_ring_models
