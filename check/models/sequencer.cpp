// sequencer: how it ends. models/locks.cpp has its calls.
#include <check/engine/model.hpp>
#include <ekiden/sync/sequencer.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>

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
