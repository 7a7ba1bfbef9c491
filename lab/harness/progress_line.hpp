/// What is measured just now, for who watches a run: one line on standard error, rewritten in place on a
/// terminal; elsewhere one line per table.
///
/// Used by: runs of the lab.
#pragma once

#include <lab/harness/results.hpp>

#include <cstdio>
#include <iostream>
#include <string>
#include <unistd.h>

namespace lab {

class progress_line {
public:
    /// `where`: the table. `share`: of the run that lies behind.
    void show(const std::string& where, const cell_result& cell, unsigned round, double share) {
        if (terminal_) {
            char percent[8];
            std::snprintf(percent, sizeof percent, "%3.0f %%", share * 100);
            std::cerr << "\r\033[2K  " << percent << "  " << where << ", round " << round + 1 << ": "
                      << cell.what.title << std::flush;
        } else if (where != last_) {
            std::cerr << "  measuring " << where << std::endl;
            last_ = where;
        }
    }

    /// Leaves the terminal as a next line wants it, whatever a cell has left there.
    void clear() const {
        if (terminal_) std::cerr << "\r\033[0m\033[2K" << std::flush;
    }

private:
    bool terminal_ = isatty(STDERR_FILENO) != 0;
    std::string last_;
};

} // namespace lab
