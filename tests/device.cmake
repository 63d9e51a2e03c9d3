# CUDA kernels on the block simulator (tests/device). g++ instruments them as for -fsanitize=thread, and the simulator
# answers in place of libtsan, which is not linked. The simulator itself is not instrumented.
function(specverify_device_simulated)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR CMAKE_CROSSCOMPILING)
    message(STATUS "tests/device: left out, the simulator needs g++ on Linux")
    return()
  endif()
  add_library(specverify_simulator STATIC EXCLUDE_FROM_ALL device/simulator/simulator.cpp device/simulator/memory.cpp
    device/script.cpp)
  target_link_libraries(specverify_simulator PUBLIC specverify_flags)
  target_include_directories(specverify_simulator BEFORE PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/device/shim")
  # longjmp between stacks is what _FORTIFY_SOURCE takes for an error; addr2line 2.40 errs on DWARF 5.
  target_compile_options(specverify_simulator PUBLIC -g1 -gdwarf-4 -U_FORTIFY_SOURCE PRIVATE -O2)

  # Compiling takes longer than running, and what runs is the simulator most of the time.
  set(instrumented -O1 -fsanitize=thread --param=tsan-instrument-func-entry-exit=0 -ffp-contract=off)

  file(GLOB files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" device/*_test.cpp)
  list(FILTER files EXCLUDE REGEX "/thrust_")  # below
  specverify_group(sources ${files})
  add_executable(test_device ${sources})
  target_link_libraries(test_device PRIVATE specverify_test_main specverify_simulator)
  target_compile_options(test_device PRIVATE ${instrumented})
  foreach(file IN LISTS files)
    string(REGEX REPLACE "_test\\.cpp$" "" part "${file}")
    string(REGEX REPLACE "/" "_" part "${part}")
    add_test(NAME ${part} COMMAND test_device --no-version "--source-file=*/${file}"
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${part} PROPERTIES LABELS device COST 50)
  endforeach()

  # Shifts by 32 and floats beyond integers differ between processors without a word: here they end the test.
  if(SPECVERIFY_ALL_TESTS)
    set(undefined -fsanitize=undefined,float-cast-overflow -fno-sanitize=vptr -fno-sanitize-recover=all)
    add_executable(test_device_undefined device/orders_test.cpp device/row_orders_test.cpp)
    target_link_libraries(test_device_undefined PRIVATE specverify_test_main specverify_simulator)
    target_compile_options(test_device_undefined PRIVATE ${instrumented} ${undefined})
    target_link_options(test_device_undefined PRIVATE ${undefined})
    add_test(NAME device_undefined COMMAND test_device_undefined --no-version WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(device_undefined PROPERTIES LABELS device COST 50)
  endif()

  # The program of scripts/gpu_check (tests/gpu), which compares kernels with the host on a GPU: here on the simulator.
  set_source_files_properties(gpu/check.cu PROPERTIES LANGUAGE CXX)
  add_executable(gpu_check_simulated gpu/check.cu)
  target_link_libraries(gpu_check_simulated PRIVATE specverify_dev specverify_simulator)
  target_compile_options(gpu_check_simulated PRIVATE ${instrumented} -x c++)
  specverify_level(gpu_check_simulated 0)
  add_test(NAME device_gpu_check COMMAND gpu_check_simulated 100)
  set_tests_properties(device_gpu_check PROPERTIES LABELS device COST 50)
endfunction()

# device/ with Thrust on two systems of the host: serial (CPP) and OpenMP (OMP). Ordinary programs, no simulator; Thrust
# on a GPU is what nvcc makes of the same headers (device/thrust_cuda_test.sh). On CPP it is wrapped, as in PyTorch.
function(specverify_device_thrust)
  if(NOT TARGET specverify::device OR CMAKE_CROSSCOMPILING)
    message(STATUS "tests/device: Thrust left out, its headers are not here (Debian: libthrust-dev)")
    return()
  endif()
  find_package(OpenMP COMPONENTS CXX QUIET)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" device/thrust_*_test.cpp)
  specverify_group(sources ${files})
  foreach(system IN ITEMS CPP OMP)
    if(system STREQUAL "OMP" AND NOT TARGET OpenMP::OpenMP_CXX)
      message(STATUS "tests/device: Thrust on OMP left out, the compiler has no OpenMP")
      continue()
    endif()
    string(TOLOWER "test_thrust_${system}" program)
    add_executable(${program} ${sources})
    target_link_libraries(${program} PRIVATE specverify_test_main specverify::device)
    target_compile_definitions(${program} PRIVATE THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_${system})
    specverify_level(${program} 1)
    if(system STREQUAL "CPP")
      target_compile_definitions(${program} PRIVATE THRUST_CUB_WRAPPED_NAMESPACE=wrapped)
    endif()
    if(system STREQUAL "OMP")
      target_link_libraries(${program} PRIVATE OpenMP::OpenMP_CXX)
    endif()
    foreach(file IN LISTS files)
      string(REGEX REPLACE "^device/(.*)_test\\.cpp$" "\\1" part "${file}")
      string(REGEX REPLACE "test_thrust_(.*)" "device_${part}_\\1" name "${program}")
      add_test(NAME ${name} COMMAND ${program} --no-version "--source-file=*/${file}"
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
      set_tests_properties(${name} PROPERTIES LABELS device COST 50 ENVIRONMENT "OMP_NUM_THREADS=3")
    endforeach()
  endforeach()
endfunction()

specverify_device_simulated()
specverify_device_thrust()
