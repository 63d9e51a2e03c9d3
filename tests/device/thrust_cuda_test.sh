#!/usr/bin/env bash
# Everything of device/ compiles with nvcc, as C++17 and without a warning.
exec bash scripts/thrust_cuda
