// A first model, of code with a bug: a thread may see the flag before the value.
#include <ekiden/check/checkable.hpp>
#include <ekiden/check/model.hpp>

using namespace ekiden;

struct mailbox {
    checkable::cell<int> letter;
    checkable::atomic<bool> full{false};

    void put(int value) {
        letter.write(value);
        full.store(true, std::memory_order_relaxed); // should be release
    }
    bool take(int& value) {
        if (!full.load(std::memory_order_acquire)) return false;
        value = letter.read();
        return true;
    }
};

EKIDEN_MODEL(letter_arrives, .about = "the one who sees the flag sees the letter") {
    mailbox box;
    checkable::thread sender([&] { box.put(7); });
    int value = 7;
    box.take(value);
    check::that(value == 7, "the letter is the one that was put in");
    sender.join();
}
