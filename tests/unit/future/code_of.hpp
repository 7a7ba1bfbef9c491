/// Which error of the standard's futures a call throws, for tests.
#pragma once

#include <future>
#include <system_error>

/// The code of the std::future_error that `f()` throws; that of success if it throws none.
template <class F>
std::error_code code_of(F&& f) {
    try {
        f();
    } catch (const std::future_error& error) {
        return error.code();
    }
    return {};
}
