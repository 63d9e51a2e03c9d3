# specverify_find_thrust() sets the cache entry SPECVERIFY_THRUST_DIR to the folder that contains thrust/version.h. It
# searches the CUDA toolkit, the Python package nvidia-cuda-cccl and the system's headers (Debian: libthrust-dev), in
# this order. CUDA itself is not needed. If Thrust is not found, the value ends in -NOTFOUND.
function(specverify_find_thrust)
  if(SPECVERIFY_THRUST_DIR)
    return()
  endif()
  set(folders "")
  foreach(root IN ITEMS "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda)
    if(root)
      list(APPEND folders "${root}/include/cccl" "${root}/include")
    endif()
  endforeach()
  foreach(root IN ITEMS "$ENV{VIRTUAL_ENV}" "$ENV{HOME}/.local" /usr/local)
    if(root)
      file(GLOB found "${root}/lib/python3*/site-packages/nvidia/cu13/include/cccl"
        "${root}/lib/python3*/dist-packages/nvidia/cu13/include/cccl")
      list(APPEND folders ${found})
    endif()
  endforeach()
  find_path(SPECVERIFY_THRUST_DIR thrust/version.h PATHS ${folders} NO_DEFAULT_PATH
    DOC "The folder that holds thrust/version.h")
  find_path(SPECVERIFY_THRUST_DIR thrust/version.h DOC "The folder that holds thrust/version.h")
endfunction()

# specverify_use_thrust(target) adds this folder to an interface target. It does not add a folder that the compiler
# searches by default, because that would change the order of the compiler's folders.
function(specverify_use_thrust target)
  if(NOT SPECVERIFY_THRUST_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    target_include_directories(${target} SYSTEM INTERFACE "$<BUILD_INTERFACE:${SPECVERIFY_THRUST_DIR}>")
  endif()
endfunction()
