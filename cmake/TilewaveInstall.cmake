# What cmake --install puts where, in three components:
#   program      bin/tilewave, its manual pages and shell completions
#   mpi          lib/tilewave/tilewave_mpi.so, where MPI was found
#   development  the public C++ headers (include/tilewave/), static libraries, the C API of QuEST with
#                its compiler wrapper bin/tilewave-quest-cc, pkg-config files, and the CMake packages
#                tilewave and QuEST. Headers below src/ are not installed: nothing there is promised.
# The pkg-config files of the build folder serve programs without an installation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TW_QUEST_HEADERS tilewave-quest)  # below the include folder: no clash with another QuEST.h
set(TW_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake)

if(TARGET tilewave)
  install(TARGETS tilewave COMPONENT program)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program OPTIONAL)
endif()

set(libraries)
foreach(module base settings runtime circuit language formats images statevec stabilizer field parametric simulate api rasters quest_core
        quest quest_f32)
  if(TARGET tilewave_${module})
    set_target_properties(tilewave_${module} PROPERTIES EXPORT_NAME ${module})
    list(APPEND libraries tilewave_${module})
  endif()
endforeach()
if(TARGET tilewave_api)
  set_target_properties(tilewave_api PROPERTIES EXPORT_NAME tilewave)
endif()
install(TARGETS ${libraries} EXPORT tilewave COMPONENT development)
install(EXPORT tilewave NAMESPACE tilewave:: FILE tilewaveTargets.cmake COMPONENT development
        DESTINATION ${TW_PACKAGE_DIR}/tilewave)
install(DIRECTORY include/tilewave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

configure_package_config_file(cmake/tilewaveConfig.cmake.in
  ${PROJECT_BINARY_DIR}/install/tilewaveConfig.cmake
  INSTALL_DESTINATION ${TW_PACKAGE_DIR}/tilewave)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/tilewaveConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/tilewaveConfig.cmake
  ${PROJECT_BINARY_DIR}/install/tilewaveConfigVersion.cmake
  DESTINATION ${TW_PACKAGE_DIR}/tilewave COMPONENT development)

# What the static libraries need from the system, as linker flags. The C++ library stands before
# them too: what programs take from it is not to be found in our objects, which hold copies.
set(TW_FIRST_LIBS -lstdc++)
set(system_libs -lstdc++)
foreach(name ${OpenMP_CXX_LIB_NAMES})
  list(APPEND system_libs -l${name})
endforeach()
list(APPEND system_libs -lm -ldl)
if(TW_HAVE_CUDA)
  list(APPEND system_libs -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt)
endif()
list(REMOVE_DUPLICATES system_libs)
list(JOIN system_libs " " TW_SYSTEM_LIBS)
set(modules simulate parametric statevec stabilizer language formats circuit runtime settings base)
list(TRANSFORM modules PREPEND -ltilewave_ OUTPUT_VARIABLE module_libs)
list(TRANSFORM modules PREPEND "-L${PROJECT_BINARY_DIR}/src/tilewave/" OUTPUT_VARIABLE build_dirs)
list(JOIN module_libs " " TW_MODULE_LIBS)
list(JOIN build_dirs " " build_dirs)

file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(TW_PC_PREFIX "\${pcfiledir}/${up}")  # found from where the file lies, so that the tree may be moved

# pkg-config --libs tilewave, and tilewave_rasters for what needs image libraries
if(TARGET tilewave_api)
  set(TW_PC_NAME tilewave)
  set(TW_PC_WHAT "Quantum circuits and error-correction sampling")
  set(TW_PC_REQUIRES libhwy)
  set(TW_PC_LIBS "-ltilewave_api ${TW_MODULE_LIBS}")
  configure_file(cmake/tilewave.pc.in install/tilewave.pc @ONLY)
  set(TW_PC_NAME tilewave_rasters)
  set(TW_PC_WHAT "Local entropy of rasters and elementwise maps")
  set(TW_PC_REQUIRES "libhwy libpng libtiff-4")
  set(TW_PC_LIBS "-ltilewave_rasters -ltilewave_field -ltilewave_images ${TW_MODULE_LIBS}")
  configure_file(cmake/tilewave.pc.in install/tilewave_rasters.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/install/tilewave.pc ${PROJECT_BINARY_DIR}/install/tilewave_rasters.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()

if(TARGET tilewave_quest)
  install(DIRECTORY src/tilewave/quest/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${TW_QUEST_HEADERS} COMPONENT development)
  install(FILES cmake/QuESTConfig.cmake DESTINATION ${TW_PACKAGE_DIR}/QuEST COMPONENT development)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/QuESTConfigVersion.cmake
    VERSION 3.7.0 COMPATIBILITY SameMajorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/install/QuESTConfigVersion.cmake
    DESTINATION ${TW_PACKAGE_DIR}/QuEST COMPONENT development)

  foreach(entry "tilewave_quest 2" "tilewave_quest_f32 1")
    separate_arguments(entry)
    list(GET entry 0 TW_QUEST_LIB)
    list(GET entry 1 TW_QUEST_PREC)
    # installed
    set(TW_PC_PREFIX "\${pcfiledir}/${up}")
    set(TW_PC_HEADERS "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}/${TW_QUEST_HEADERS}")
    set(TW_PC_DIRS "-L\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(TW_PC_MODULE "\${prefix}/lib/tilewave")
    configure_file(cmake/tilewave_quest.pc.in install/${TW_QUEST_LIB}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/install/${TW_QUEST_LIB}.pc
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
    # in the build folder
    set(TW_PC_PREFIX ${PROJECT_BINARY_DIR})
    set(TW_PC_HEADERS ${PROJECT_SOURCE_DIR}/src/tilewave/quest/include)
    set(TW_PC_DIRS "-L${PROJECT_BINARY_DIR}/src/tilewave/quest ${build_dirs}")
    set(TW_PC_MODULE ${PROJECT_BINARY_DIR})
    configure_file(cmake/tilewave_quest.pc.in ${TW_QUEST_LIB}.pc @ONLY)
  endforeach()

  configure_file(cmake/tilewave-quest-cc.in install/tilewave-quest-cc @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/install/tilewave-quest-cc
    DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT development)
endif()
