# tw_module(NAME [UNITY] [LOOPS] [STRICT_FP] [EXCLUDE regex] DEPENDS modules... [PRIVATE libs...]): a static library tilewave_NAME of every source
# in the folder but those excluded, and
# its unit tests (*_test.cc beside the code) as one program test_NAME. Back ends are folders: cpu/ always; cuda/*.cu where
# CUDA is on, otherwise cuda/*_stub.cc. UNITY: with TW_UNITY its sources are compiled some together, which makes a first
# build faster; kernels compiled once an instruction set stay alone. LOOPS: -O3. STRICT_FP: no
# multiply-add that the source does not spell out, so that every machine and back end rounds alike.
find_package(GTest QUIET)

# tw_embed(SOURCE INC files...): writes files, named below tilewave/, as a C++ array of {name, text} to INC, which SOURCE includes.
function(tw_embed source inc)
  set(files ${ARGN})
  list(TRANSFORM files PREPEND tilewave/)
  list(JOIN files "|" joined)
  set(paths "")
  foreach(file ${files})
    foreach(top src include)
      if(EXISTS ${PROJECT_SOURCE_DIR}/${top}/${file})
        list(APPEND paths ${PROJECT_SOURCE_DIR}/${top}/${file})
      endif()
    endforeach()
  endforeach()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${inc})
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DFILES=${joined}" -DOUT=${out}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${out} SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_OPTIONS "-I${CMAKE_CURRENT_BINARY_DIR}")
endfunction()

function(tw_module name)
  cmake_parse_arguments(MODULE "UNITY;LOOPS;STRICT_FP" "EXCLUDE" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  file(GLOB_RECURSE device CONFIGURE_DEPENDS *.cu)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_main)\\.cc$|/mpi/")  # mpi/ is a module of its own
  if(MODULE_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${MODULE_EXCLUDE}")
  endif()
  if(TW_HAVE_CUDA)
    list(FILTER sources EXCLUDE REGEX "_stub\\.cc$")
    list(FILTER device EXCLUDE REGEX "_test\\.cu$")
    list(APPEND sources ${device})
  else()
    list(FILTER sources EXCLUDE REGEX "/cuda/.*(\\.cc)$")
    file(GLOB_RECURSE stubs CONFIGURE_DEPENDS *_stub.cc)
    list(APPEND sources ${stubs})
    list(REMOVE_DUPLICATES sources)
  endif()
  set(lib tilewave_${name})
  if(sources)
    add_library(${lib} STATIC ${sources})
    set(headers modules)  # precompiled headers carry such options into what uses them
    if(MODULE_STRICT_FP)
      string(PREPEND headers strict_)
      target_compile_options(${lib} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
    endif()
    if(MODULE_LOOPS)
      string(PREPEND headers loops_)
      target_compile_options(${lib} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O3>)
    endif()
    if(MODULE_UNITY)
      tw_unity(${lib})
    endif()
    set(scope PUBLIC)
    target_include_directories(${lib} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                               $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                               $<INSTALL_INTERFACE:include>)
    target_link_libraries(${lib} PRIVATE $<BUILD_INTERFACE:tw_options> ${MODULE_PRIVATE} OpenMP::OpenMP_CXX)
    tw_module_headers(${lib} ${headers})
    if(TW_HAVE_CUDA AND device)
      target_link_libraries(${lib} PUBLIC CUDA::cudart_static)
      target_compile_options(${lib} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall $<$<BOOL:${TW_WERROR}>:-Werror=all-warnings> --expt-relaxed-constexpr ${TW_CUDA_COMPRESS}>)
    endif()
  else()
    add_library(${lib} INTERFACE)
    set(scope INTERFACE)
    target_include_directories(${lib} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                               $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                               $<INSTALL_INTERFACE:include>)
  endif()
  foreach(dep ${MODULE_DEPENDS})
    target_link_libraries(${lib} ${scope} tilewave_${dep})
  endforeach()
  if(TW_BUILD_TESTS AND tests AND GTest_FOUND)
    tw_test(test_${name} SOURCES ${tests} DEPENDS ${name} PRIVATE ${MODULE_PRIVATE})
  endif()
endfunction()

# tw_loops(files...): files of a module whose vectors fill the registers. They take no precompiled headers: with these GCC compiles by the
# headers' options, whatever the file's are. Registers that are renamed: GCC 12 copies fewer vectors.
function(tw_loops)
  set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS
    $<$<CONFIG:Release>:-O3> $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-frename-registers>)
endfunction()

# tw_unity(TARGET [FILES]): compiles the target's sources some (12) together where TW_UNITY is on.
function(tw_unity name)
  set(files 12)
  if(ARGC GREATER 1)
    set(files ${ARGV1})
  endif()
  if(TW_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)  # asks where a file ends
  endif()
  get_target_property(sources ${name} SOURCES)
  foreach(source ${sources})
    file(STRINGS ${source} per_target REGEX "hwy/foreach_target.h" LIMIT_COUNT 1)
    if(per_target)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")  # GCC 12 ends in its header of SVE where headers are precompiled
        set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endif()
  endforeach()
endfunction()

# tw_shared_headers(GROUP TARGET headers...): headers that most files of a group of targets include, compiled once, by the
# first target of the group that asks. The targets of a group are compiled with the same options.
# GCC 12 warns of overlaps and offsets inside std::string that cannot be; it hides them only in headers it reads itself.
add_library(tw_shared_headers_warnings INTERFACE)
target_compile_options(tw_shared_headers_warnings INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:\
-fpch-preprocess;-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>")  # compiler caches need the first
function(tw_shared_headers group name)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:tw_shared_headers_warnings>)  # after -Wall
  get_property(owner GLOBAL PROPERTY TW_SHARED_HEADERS_${group})
  if(owner)
    target_precompile_headers(${name} REUSE_FROM ${owner})
  else()
    string(REPLACE ">" "$<ANGLE-R>" headers "${ARGN}")
    target_precompile_headers(${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${headers}>")
    set_property(GLOBAL PROPERTY TW_SHARED_HEADERS_${group} ${name})
  endif()
endfunction()

# tw_module_headers(TARGET GROUP): the standard headers of the modules; with TW_UNITY only, so that other builds see what a file lacks.
function(tw_module_headers name group)
  if(TW_UNITY)
    tw_shared_headers(${group} ${name} <algorithm> <array> <bit> <cmath> <complex> <cstdint> <cstring> <functional> <limits>
                      <map> <memory> <numbers> <optional> <span> <string> <string_view> <unordered_map> <vector>)
  endif()
endfunction()

# tw_test(NAME SOURCES files... DEPENDS modules... [PRIVATE libs...] [LABELS labels...]): a GoogleTest program known to ctest.
function(tw_test name)
  cmake_parse_arguments(T "" "" "SOURCES;DEPENDS;PRIVATE;LABELS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  tw_unity(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)  # oracle/, random circuits
  target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Og>)  # the modules are optimised, tests build fast
  target_link_libraries(${name} PRIVATE tw_options ${T_PRIVATE} OpenMP::OpenMP_CXX GTest::gtest GTest::gtest_main)
  foreach(dep ${T_DEPENDS})
    target_link_libraries(${name} PRIVATE tilewave_${dep})
  endforeach()
  tw_shared_headers(tests ${name} <gtest/gtest.h> <algorithm> <cmath> <complex> <fstream> <map> <numbers> <random>
                    <sstream> <string> <vector>)
  add_test(NAME ${name} COMMAND ${name})
  if(T_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}")
  endif()
endfunction()
