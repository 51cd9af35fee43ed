# TW_PORTABLE: programs and modules that run on machines other than the one that built them, as a wheel has to. The C++ library
# is linked statically, and so are the image libraries with all that they need; what stays shared is libc, GCC's support library,
# and the OpenMP library and Highway, which packaging/wheel/build puts into the wheel. JBIG, a library under the GPL, is left out.
# TW_OLDER_LIBC: a folder with the libraries of an older glibc to link with (packaging/wheel/older_libc makes one).
set(TW_OLDER_LIBC "" CACHE PATH "Portable builds: folder of an older glibc to link with")
add_library(tw_portable INTERFACE)
if(TW_PORTABLE)
  file(GLOB portable CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../packaging/wheel/portable/*.cc)
  add_library(tilewave_portable OBJECT ${portable})
  target_link_libraries(tilewave_portable PRIVATE tw_options)
  target_compile_options(tilewave_portable PRIVATE -fno-builtin)  # their own names
  target_link_options(tw_portable INTERFACE -static-libstdc++ -s
    -Wl,--wrap=stderr,--wrap=exp,--wrap=log,--wrap=log2,--wrap=pow)
  target_link_libraries(tw_portable INTERFACE $<TARGET_OBJECTS:tilewave_portable> ${CMAKE_DL_LIBS})
  add_dependencies(tw_portable tilewave_portable)
  if(TW_OLDER_LIBC)
    set(older ${TW_OLDER_LIBC}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
    target_link_options(tw_portable INTERFACE --sysroot=${TW_OLDER_LIBC} -B${older} -L${older} -Wl,--allow-shlib-undefined)
    target_link_libraries(tw_portable INTERFACE -Wl,--push-state,--no-as-needed -lpthread -lrt -ldl -lm -Wl,--pop-state)
  endif()
endif()

# tw_find_images(): the targets PNG::PNG and TIFF::TIFF.
macro(tw_find_images)
  if(TW_PORTABLE)
    tw_static_library(PNG::PNG libpng)
    tw_static_library(TIFF::TIFF libtiff-4)
  else()
    find_package(PNG REQUIRED)
    find_package(TIFF REQUIRED)
  endif()
endmacro()

# tw_static_library(TARGET MODULE): the archives of a module of pkg-config and of what it requires.
function(tw_static_library name module)
  if(TARGET ${name})
    return()
  endif()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(static_${module} REQUIRED ${module})
  set(archives "")
  foreach(library ${static_${module}_STATIC_LIBRARIES})
    if(library STREQUAL "jbig" OR library MATCHES "^(m|pthread|dl|rt)$")
      continue()
    endif()
    find_library(static_lib_${library} NAMES lib${library}.a HINTS ${static_${module}_STATIC_LIBRARY_DIRS} REQUIRED)
    list(APPEND archives ${static_lib_${library}})
  endforeach()
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} INTERFACE ${static_${module}_INCLUDE_DIRS})
  target_link_libraries(${name} INTERFACE ${archives} m)
endfunction()

# tw_install_licenses(ARGUMENTS OF install): the licences of the libraries that a portable build holds, as Debian words them.
function(tw_install_licenses)
  foreach(package libcli11-dev libdeflate-dev libgomp1 libhwy-dev libjpeg62-turbo-dev liblerc-dev liblzma-dev libpng-dev libtiff-dev
                  libwebp-dev libzstd-dev nlohmann-json3-dev zlib1g-dev)
    set(license ${CMAKE_SYSROOT}/usr/share/doc/${package}/copyright)
    if(NOT EXISTS ${license})
      message(FATAL_ERROR "a portable build holds what ${package} installs: ${license}, its licence, is missing")
    endif()
    install(FILES ${license} RENAME ${package}.txt ${ARGN})
  endforeach()
endfunction()
