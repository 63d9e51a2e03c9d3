# specverify_find_thrust(): where the headers of Thrust lie, into the cache entry SPECVERIFY_THRUST_DIR: the folder with
# thrust/version.h. Looked for in the CUDA toolkit, in the Python package nvidia-cuda-cccl and among the system's own
# headers (Debian: libthrust-dev), in this order. CUDA itself is not needed. Without Thrust it ends in -NOTFOUND.
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

# specverify_use_thrust(target): gives an interface target the folder that was found. Folders that the compiler searches
# anyway stay out: naming them would change their order.
function(specverify_use_thrust target)
  if(NOT SPECVERIFY_THRUST_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    target_include_directories(${target} SYSTEM INTERFACE "$<BUILD_INTERFACE:${SPECVERIFY_THRUST_DIR}>")
  endif()
endfunction()
