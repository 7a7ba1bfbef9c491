/// The functions of the DLL, and output that works at the end of a process.
#pragma once

#include <cstdio>
#include <cstring>
#include <io.h>

inline void say(const char* text) { (void)::_write(2, text, static_cast<unsigned>(std::strlen(text))); }

extern "C" {
/// Makes the pools if they do not exist. Returns 11 if their threads have run all tasks.
__declspec(dllexport) int use_pools();
__declspec(dllexport) void end_pools();
__declspec(dllexport) void post_to_pools(void (*task)());
/// The destructors of the DLL call `f`.
__declspec(dllexport) void call_at_end(void (*f)());
/// The destructors of the DLL wait for an event that never comes.
__declspec(dllexport) void wait_at_end();
}
