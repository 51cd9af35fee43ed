// The CUDA compiler as a library (NVRTC), loaded at run time: part of the CUDA toolkit, also as the
// Python package nvidia-cuda-nvrtc. TILEWAVE_NVRTC names another library file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tilewave::runtime::cuda {

struct SourceFile {
  const char* name;  ///< as in #include
  const char* text;
};

class Nvrtc {
 public:
  /// Null where it cannot be loaded; `why` then says so. Loaded once a process.
  static const Nvrtc* load(std::string* why = nullptr);

  /// "13.0"
  std::string version() const;

  struct Program {
    std::string binary;  ///< machine code of one architecture (cubin); empty where it failed
    std::string log;     ///< what the compiler said
  };
  /// Threads may compile at the same time.
  Program compile(const std::string& source, std::span<const SourceFile> files,
                  std::span<const std::string> options) const;

 private:
  Nvrtc() = default;
  std::string open();

  using Handle = struct OpaqueProgram*;
  int (*get_version)(int*, int*) = nullptr;
  int (*create)(Handle*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*compile_program)(Handle, int, const char* const*) = nullptr;
  int (*log_size)(Handle, std::size_t*) = nullptr;
  int (*get_log)(Handle, char*) = nullptr;
  int (*binary_size)(Handle, std::size_t*) = nullptr;
  int (*get_binary)(Handle, char*) = nullptr;
};

}  // namespace tilewave::runtime::cuda
