// A library with the functions of NVRTC that the program uses, for tests of what is around a
// compiler: "machine code" is the source, after a second where it says "slow", none where it says
// "wrong", and an ELF file with 2 MiB of code where it says "a long source", or jumps less often from
// block to block than FAKE_LEAST_JUMPS says. As the real one, it has objects from when it first
// compiles, and first finds an error, to the end of the process, without which it cannot go on
// compiling.
#include <elf.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

struct Program {
  std::string source;
  bool says(const char* word) const { return source.find(word) != std::string::npos; }
  std::string log() const { return says("wrong") ? "a word that does not belong here" : ""; }
  bool is_long() const {
    const char* const least = std::getenv("FAKE_LEAST_JUMPS");
    int jumps = 0;
    for (std::size_t at = 0; (at = source.find("; goto block_", at)) != std::string::npos; ++at)
      ++jumps;
    return says("a long source") || (least && jumps < std::atoi(least));
  }
  std::string binary() const { return is_long() ? long_code() : source; }

  // Of the kernels of tests and of passes.
  static std::string long_code() {
    static constexpr char kNames[] = "\0.text.kernel\0.text.tile_pass\0.shstrtab";
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_shoff = sizeof header;
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    Elf64_Shdr sections[3]{};
    sections[0].sh_name = 1;
    sections[1].sh_name = 14;
    sections[0].sh_size = sections[1].sh_size = 2 << 20;  // said, not there
    sections[2].sh_name = 30;
    sections[2].sh_offset = sizeof header + sizeof sections;
    sections[2].sh_size = sizeof kNames;
    std::string all(reinterpret_cast<const char*>(&header), sizeof header);
    all.append(reinterpret_cast<const char*>(sections), sizeof sections);
    return all.append(kNames, sizeof kNames);
  }
};

std::atomic<bool> is_gone = false;
struct Needed {
  ~Needed() { is_gone = true; }
};

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 99;
  return 0;
}
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  *program = new Program{source};
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return 0;
}
int nvrtcCompileProgram(Program* program, int, const char* const*) {
  static const Needed needed;
  if (program->says("slow")) std::this_thread::sleep_for(std::chrono::seconds(1));
  if (is_gone) std::abort();
  if (!program->says("wrong")) return 0;
  static const Needed from_an_error_on;
  return 1;
}
int nvrtcGetProgramLogSize(Program* program, std::size_t* size) {
  *size = program->log().size() + 1;
  return 0;
}
int nvrtcGetProgramLog(Program* program, char* log) {
  std::strcpy(log, program->log().c_str());
  return 0;
}
int nvrtcGetCUBINSize(Program* program, std::size_t* size) {
  *size = program->binary().size();
  return 0;
}
int nvrtcGetCUBIN(Program* program, char* binary) {
  const std::string made = program->binary();
  std::memcpy(binary, made.data(), made.size());
  return 0;
}

}  // extern "C"
