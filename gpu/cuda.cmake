# The CUDA backend, compiled by nvcc itself: a static runtime, so that one binary runs with and without a driver; machine
# code for Hopper, and PTX from which drivers make that of others. No fused or reassociated arithmetic here either.
set(gpu_sources gpu/absent.c)
set(gpu_libraries "")
set(gpu_absent_reason "not built: configured with COLDSTART_CUDA=OFF")
if(NOT COLDSTART_CUDA STREQUAL "OFF")
    find_program(COLDSTART_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_PATH PATH_SUFFIXES bin)
    if(COLDSTART_NVCC)
        get_filename_component(nvcc_path ${COLDSTART_NVCC} REALPATH)
        get_filename_component(cuda_root ${nvcc_path}/../.. ABSOLUTE)
        find_library(COLDSTART_CUDART cudart_static HINTS ${cuda_root} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib
                     targets/sbsa-linux/lib)
    endif()
    if(COLDSTART_NVCC AND COLDSTART_CUDART)
        file(GLOB cuda_headers CONFIGURE_DEPENDS gpu/*.cuh gpu/*.h)
        set(gpu_sources "")
        foreach(name cuda cuda_known)
            set(cuda_object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
            add_custom_command(OUTPUT ${cuda_object}
                COMMAND ${COLDSTART_NVCC} -std=c++17 -O3 --fmad=false -lineinfo --cudart=static
                    -gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=compute_80
                    -Xcompiler=-fno-exceptions,-ffp-contract=off,-fPIC
                    -I${PROJECT_SOURCE_DIR} -c ${PROJECT_SOURCE_DIR}/gpu/${name}.cu -o ${cuda_object}
                DEPENDS gpu/${name}.cu ${cuda_headers} sim/device/device.h sim/tensor/tensor.h sim/base/base.h
                COMMENT "Building CUDA object ${name}.o" VERBATIM)
            set_source_files_properties(${cuda_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
            list(APPEND gpu_sources ${cuda_object})
        endforeach()
        set(gpu_libraries ${COLDSTART_CUDART} dl pthread rt)
    elseif(COLDSTART_CUDA STREQUAL "ON")
        message(FATAL_ERROR "COLDSTART_CUDA=ON, but nvcc and libcudart_static.a were not found: put nvcc on the PATH")
    else()
        set(gpu_absent_reason "not built: nvcc was not found")
    endif()
endif()
set_source_files_properties(gpu/absent.c PROPERTIES COMPILE_DEFINITIONS "CS_GPU_ABSENT_REASON=\"${gpu_absent_reason}\"")
message(STATUS "Device gpu: ${gpu_sources}")
