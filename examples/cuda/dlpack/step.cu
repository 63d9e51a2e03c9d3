// SPDX-License-Identifier: Apache-2.0
// Draws a token from each row of logits, for engines in Python: a library that takes tensors of torch, JAX or CuPy by
// DLPack. It does not allocate or wait, so a CUDA graph can capture the call.
//   nvcc -std=c++17 -O2 -arch=sm_80 -shared -Xcompiler -fPIC -Iinclude examples/cuda/dlpack/step.cu -o libstep.so
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/sample.cuh>

using namespace specverify;

extern "C" {

// DLTensor of DLPack's C interface, which has a fixed layout.
struct dl_tensor {
  void* data;
  std::int32_t device_type, device_id;  // 2: CUDA
  std::int32_t ndim;
  std::uint8_t code, bits;  // 2: float, 4: bfloat, 0: int, 1: unsigned
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: no gaps between rows
  std::uint64_t byte_offset;
};

// Inputs and outputs of a step, which must all be on the same device.
struct step_tensors {
  const dl_tensor* logits;     // rows x V: float32, float16 or bfloat16
  const dl_tensor* memory;     // as many bytes as step_bytes returns
  const dl_tensor* keys;       // rows x 2, 32 bits
  const dl_tensor* positions;  // rows, 32 bits: position of the drawn token in the text
  const dl_tensor* rounds;     // rows, 32 bits
  const dl_tensor* tokens;     // rows x 5, 32 bits: status (0: ok), where, token, trials, flags
};
}

static_assert(sizeof(device_token) == 20 && sizeof(status) == 8, "tokens have five words");

namespace {

template <class T>
T* data_of(const dl_tensor& tensor) {
  return reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

// Returns the elements between the beginnings of two rows. Some exporters store 1 if there is only one row.
std::int64_t pitch_of(const dl_tensor& tensor) {
  return tensor.strides == nullptr || tensor.shape[0] == 1 ? tensor.shape[1] : tensor.strides[0];
}

// Returns whether a tensor has `rows` rows of `columns` 32-bit numbers without gaps.
bool is_list(const dl_tensor& tensor, std::int64_t rows, std::int64_t columns) {
  const bool has_shape = tensor.ndim == 1 ? columns == 1 : tensor.ndim == 2 && tensor.shape[1] == columns;
  const bool is_dense = tensor.strides == nullptr || rows == 1 ||
                        (tensor.strides[tensor.ndim - 1] == 1 && (tensor.ndim == 1 || pitch_of(tensor) == columns));
  return has_shape && is_dense && tensor.shape[0] == rows && tensor.bits == 32 && tensor.device_type == 2;
}

template <class Scalar>
device_rows<Scalar> rows_of(const dl_tensor& logits) {
  device_rows<Scalar> rows;
  rows.data = data_of<const Scalar>(logits);
  rows.count = static_cast<std::uint32_t>(logits.shape[0]);
  rows.size = static_cast<std::uint32_t>(logits.shape[1]);
  rows.pitch = static_cast<std::size_t>(pitch_of(logits));
  return rows;
}

template <class Scalar>
status draw(const step_tensors& in, double temperature, cudaStream_t stream) {
  device_transform transform;
  transform.temperature = temperature;
  const device_memory memory{data_of<void>(*in.memory), static_cast<std::size_t>(in.memory->shape[0])};
  const auto batch = make_device_batch(rows_of<Scalar>(*in.logits), transform, memory);
  if (!batch) return batch.error();
  const device_uniforms<> random{data_of<const philox_key>(*in.keys), 1, data_of<const std::uint32_t>(*in.positions),
                                 data_of<const std::uint32_t>(*in.rounds)};
  const exec::cuda on{stream};
  if (const status why = read_rows(on, *batch); !why.ok()) return why;
  return sample(on, *batch, random.at(purpose::bonus_draw), data_of<device_token>(*in.tokens));
}

}  // namespace

extern "C" {

// Returns the bytes of `memory` for logits of this many rows and ids.
std::size_t step_bytes(std::uint32_t rows, std::uint32_t vocab_size) {
  device_rows<float> shape;
  shape.count = rows;
  shape.pitch = vocab_size;
  shape.size = vocab_size;
  return device_batch_size(shape, {});
}

// Returns 0, or the number of an error (docs/errors.md).
int step_draw(const step_tensors* in, double temperature, void* stream) {
  const dl_tensor& logits = *in->logits;
  const bool has_rows = logits.ndim == 2 && logits.device_type == 2 && logits.lanes == 1 && logits.shape[0] > 0 &&
                        logits.shape[0] <= 0x7FFFFFFF && logits.shape[1] > 0 && logits.shape[1] <= max_vocab_size &&
                        (logits.strides == nullptr || logits.strides[1] == 1) && pitch_of(logits) > 0;
  if (!has_rows || !is_list(*in->keys, logits.shape[0], 2) || !is_list(*in->positions, logits.shape[0], 1) ||
      !is_list(*in->rounds, logits.shape[0], 1) || !is_list(*in->tokens, logits.shape[0], 5) || in->memory->ndim != 1 ||
      in->memory->bits != 8 || in->memory->device_type != 2)
    return static_cast<int>(errc::invalid_argument);
  auto* const on = static_cast<cudaStream_t>(stream);
  status why{errc::unsupported, part::row, 0};
  if (logits.code == 2 && logits.bits == 32) why = draw<float>(*in, temperature, on);
  if (logits.code == 2 && logits.bits == 16) why = draw<float16_bits>(*in, temperature, on);
  if (logits.code == 4 && logits.bits == 16) why = draw<bfloat16_bits>(*in, temperature, on);
  return static_cast<int>(why.code);
}
}
