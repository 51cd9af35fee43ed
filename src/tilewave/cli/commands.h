// The commands of the program, one file each. A new command is a declaration here, a row in
// commands.cc, and a file <name>.cc that adds its flags to the application and sets a
// callback. A callback throws tilewave::Error; main prints the one line and exits with its code.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tilewave::cli {

void add_run_command(CLI::App& app);
void add_entropy_command(CLI::App& app);
void add_map_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_sample_command(CLI::App& app);
void add_detect_command(CLI::App& app);
void add_m2d_command(CLI::App& app);
void add_analyze_errors_command(CLI::App& app);
void add_explain_errors_command(CLI::App& app);
void add_sample_dem_command(CLI::App& app);
void add_gen_command(CLI::App& app);
void add_convert_command(CLI::App& app);
void add_diagram_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_completions_command(CLI::App& app);
void add_manual_command(CLI::App& app);
void add_help_command(CLI::App& app);

/// --max-memory and --max-seconds, of every command, for those who run circuits of others: what goes
/// beyond them ends with an error and exit code 3. (--max-operations of run and bench is the readers'.)
void add_limit_flags(CLI::App& command);
/// A line for errors about memory, threads and other resources, which names --max-memory; "" where it
/// is not given.
const char* memory_limit_note();
/// Adds the commands that the words of a command line can mean, in the order in which `tilewave help`
/// lists them. Where the first word is a command, these are the ones whose names are among the words,
/// as the flags of all would take a third of the time in which the program starts; every one where
/// there is another first word, or none, and for a command that tells of the others.
void add_commands(CLI::App& app, const std::vector<std::string>& words);

}  // namespace tilewave::cli
