#include <ekiden/sys/signal_count.hpp>

#include <ekiden/sys/futex.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

constexpr int most_signals = 128; // more than any system has
constinit std::array<atomic<std::uint32_t>, most_signals> counts{};

void count(int signal) {
    const int before = errno;
    wake_for_signal(signal);
    errno = before;
}

} // namespace

const atomic<std::uint32_t>* count_signals(int signal) noexcept {
#if defined(EKIDEN_FUTEX_TABLE)
    if (signal != 0) return nullptr; // the handler could not call futex_wake()
#endif
    if (signal <= 0 || signal >= most_signals) return nullptr;
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0) return nullptr;
    if (now.sa_handler != &count) {
        if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) return nullptr;
        now = {};
        now.sa_handler = &count;
        now.sa_flags = SA_RESTART;
        if (::sigaction(signal, &now, nullptr) != 0) return nullptr;
    }
    return &counts[static_cast<std::size_t>(signal)];
}

void wake_for_signal(int signal) noexcept {
    atomic<std::uint32_t>& word = counts[static_cast<std::size_t>(signal)];
    word.fetch_add(1, release); // publishes what the caller did. Pairs with the acquire of the reader.
    futex_wake_all(word);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
