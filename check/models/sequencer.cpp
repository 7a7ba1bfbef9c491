// sequencer: how it ends. models/locks.cpp has its calls.
#include <check/engine/model.hpp>
#include <ekiden/sync/sequencer.hpp>
#include <ekiden/sys/thread.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace sequencer_models {

using namespace ekiden;

EKIDEN_MODEL(sequencer_close, .about = "what comes before close comes before the end of serve",
             .preemptions = 4) {
    sequencer<int, int> s;
    sys::cell<int> note{0};
    sys::thread closer([&] {
        note.write(1);
        s.close();
    });
    s.serve([](std::uint64_t, int) { return 0; });
    check::that(note.read() == 1, "what the closer did is visible");
    closer.join();
}

EKIDEN_MODEL(
    sequencer_gives_up,
    .about = "a server gives up as a call comes: it is processed, then or later, and no wake-up is late",
    .preemptions = 3, .spurious = 0, .weak_failures = 0) {
    sequencer<int, int> s;
    const auto next = [](std::uint64_t, int x) { return x + 1; };
    sys::thread caller([&] { check::that(s.call(1)->reply == 2, "answered"); });
    check::that(!s.serve_for(std::chrono::milliseconds(1), next), "nobody has closed it");
    while (s.processed() == 0) {
        if (s.serve_ready(next) == 0) sys::yield();
    }
    caller.join();
}

EKIDEN_MODEL(sequencer_gives_up_closed,
             .about = "a server gives up as the sequencer is closed, and may destroy it if it reads that",
             .preemptions = 4, .spurious = 0) {
    auto s = std::make_unique<sequencer<int, int>>();
    sys::cell<int> note{0};
    sys::thread closer([&note, &closed = *s] {
        note.write(1);
        closed.close();
    });
    if (s->serve_for(std::chrono::milliseconds(1), [](std::uint64_t, int) { return 0; })) {
        check::that(note.read() == 1, "what the closer did is visible");
        s.reset();
    }
    closer.join();
}

} // namespace sequencer_models
