#include <lab/harness/interrupt.hpp>
#include <lab/harness/windows/interrupt.hpp>

#include <system_error>
#include <windows.h>

namespace lab {
namespace {

HANDLE event = nullptr;

/// The system calls it in a thread of its own.
BOOL WINAPI on_interrupt(DWORD) {
    ::SetEvent(event);
    return TRUE;
}

} // namespace

void catch_interrupts() {
    event = ::CreateEventW(nullptr, TRUE, FALSE, nullptr); // stays set
    if (event == nullptr || ::SetConsoleCtrlHandler(&on_interrupt, TRUE) == 0)
        throw std::system_error(static_cast<int>(::GetLastError()), std::system_category(), "interrupts");
}

bool interrupted() { return event != nullptr && ::WaitForSingleObject(event, 0) == WAIT_OBJECT_0; }

void sleep_unless_interrupted(double seconds) {
    const auto ms = static_cast<DWORD>(seconds * 1e3);
    if (event == nullptr)
        ::Sleep(ms);
    else
        (void)::WaitForSingleObject(event, ms);
}

void* interrupt_event() { return event; }

} // namespace lab
