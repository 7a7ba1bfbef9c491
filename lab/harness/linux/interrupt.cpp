#include <lab/harness/interrupt.hpp>

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/signalfd.h>
#include <system_error>

namespace lab {
namespace {

int descriptor = -1;

sigset_t both() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

} // namespace

void catch_interrupts() {
    const sigset_t set = both();
    // A shell without job control starts background commands with SIGINT ignored.
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    descriptor = signalfd(-1, &set, SFD_CLOEXEC);
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

bool interrupted() {
    pollfd one{descriptor, POLLIN, 0};
    return poll(&one, 1, 0) > 0; // never read, so it stays readable
}

void sleep_unless_interrupted(double seconds) {
    pollfd one{descriptor, POLLIN, 0};
    (void)poll(&one, 1, static_cast<int>(seconds * 1e3));
}

int interrupt_descriptor() { return descriptor; }

void forget_interrupts() {
    const sigset_t set = both();
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

} // namespace lab
