/// Shows what is being measured, on one line of standard error. The line is rewritten in place on a terminal.
/// Elsewhere, there is one line for each table.
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
    /// `where` names the table. `share` is the completed share of the run.
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

    /// Restores the state of the terminal, whatever a cell has written.
    void clear() const {
        if (terminal_) std::cerr << "\r\033[0m\033[2K" << std::flush;
    }

private:
    bool terminal_ = isatty(STDERR_FILENO) != 0;
    std::string last_;
};

} // namespace lab
