// Limits for those who run circuits of others: --max-memory and --max-seconds of every command. What
// goes beyond them ends with one line and exit code 3. (--max-operations of run and bench is the
// readers'.)
#pragma once

namespace CLI {
class App;
}

namespace tilewave::cli {

void add_limit_flags(CLI::App& command);

}  // namespace tilewave::cli
