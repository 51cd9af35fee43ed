# Compiler settings shared by every module: C++20, warnings as errors, OpenMP, optional sanitizers, optional CUDA.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# Parsers and planners are as fast with -O2 and build an eighth faster; what loops over amplitudes,
# shots or pixels asks for more (tw_module LOOPS, or tw_loops for some files of a module).
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Who packages with a compiler of their own wants no error of a warning that GCC 12 does not have.
set(warnings_are_errors ON)
if(SKBUILD)
  set(warnings_are_errors OFF)
endif()
option(TW_WERROR "Warnings are errors" ${warnings_are_errors})
set(TW_WERROR_FLAG "")
if(TW_WERROR)
  set(TW_WERROR_FLAG -Werror)
endif()

add_library(tw_options INTERFACE)
target_compile_options(tw_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow ${TW_WERROR_FLAG}>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-unknown-warning-option>)  # modules silence some warnings that only GCC has
if(TW_UNITY)  # large sources: collecting the compiler's garbage takes a twentieth of its time
  target_compile_options(tw_options INTERFACE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>")
endif()
if(TW_SANITIZE)
  target_compile_options(tw_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>)  # checked loops are not vectorised, whatever OpenMP asks
  foreach(name ADDRESS THREAD)  # as GCC says it
    string(TOLOWER ${name} word)
    if(TW_SANITIZE MATCHES ${word})
      target_compile_definitions(tw_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:__SANITIZE_${name}__=1>)
    endif()
  endforeach()
  target_link_options(tw_options INTERFACE -fsanitize=${TW_SANITIZE})
endif()

find_package(OpenMP REQUIRED COMPONENTS CXX)

# CUDA: found automatically; an absent back end links the stub of each module and says so at run time. pip, for whom it takes
# several times as long, builds it only where there is a GPU.
set(TW_HAVE_CUDA OFF)
set(devices "")  # the architectures of the GPUs here, such as 90
if(NOT TW_CUDA STREQUAL "OFF")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    string(REGEX MATCHALL "[0-9]+[.][0-9]+" devices "${answer}")
    list(TRANSFORM devices REPLACE "[.]" "")
    list(REMOVE_DUPLICATES devices)
  endif()
endif()
if(TW_CUDA STREQUAL "ON" OR (TW_CUDA STREQUAL "AUTO" AND (devices OR NOT SKBUILD)))
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
    if(devices)
      set(CMAKE_CUDA_ARCHITECTURES ${devices})
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 does not know that nvcc has it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    find_package(CUDAToolkit REQUIRED)
    set(TW_HAVE_CUDA ON)
  elseif(TW_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TW_CUDA=ON but no CUDA compiler was found: install the CUDA toolkit or use TW_CUDA=AUTO")
  endif()
endif()
# The architectures by their numbers, which the program tells (runtime/gpu_code.h).
set(TW_CUDA_CODE "")
if(TW_HAVE_CUDA)
  set(TW_CUDA_CODE "${CMAKE_CUDA_ARCHITECTURES}")
  foreach(word all all-major native)
    if(TW_CUDA_CODE STREQUAL word)
      string(TOUPPER "CMAKE_CUDA_ARCHITECTURES_${word}" list)
      string(REPLACE "-" "_" list "${list}")
      if(NOT ${list})
        message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES is ${word}, and this CMake does not say which these are: give their numbers, such as 80;90")
      endif()
      set(TW_CUDA_CODE "${${list}}")
      set(CMAKE_CUDA_ARCHITECTURES "${${list}}")
    endif()
  endforeach()
  # Builds for many devices: an eighth of their size on disk; the driver unpacks what it loads.
  set(TW_CUDA_COMPRESS "")
  list(LENGTH CMAKE_CUDA_ARCHITECTURES count)
  if(count GREATER 1 AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
    set(TW_CUDA_COMPRESS --compress-mode=size)
  endif()
  message(STATUS "Tilewave: CUDA back end: ON, for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "Tilewave: CUDA back end: OFF")
endif()
