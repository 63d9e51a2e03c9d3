// SPDX-License-Identifier: Apache-2.0
//! Runs the softmax of oneDNN and of XNNPACK from Debian 12, if the package is installed.
#ifndef SPECVERIFY_BENCHMARKS_PEERS_PACKAGED_HPP
#define SPECVERIFY_BENCHMARKS_PEERS_PACKAGED_HPP

#include "../goals/path.hpp"
#include "peer.hpp"

#ifdef SPECVERIFY_PEERS_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif
#ifdef SPECVERIFY_PEERS_XNNPACK
#include <xnnpack.h>
#endif

namespace bench_peers {

#ifdef SPECVERIFY_PEERS_ONEDNN
//! Creates the primitive once; a call binds the row and runs it.
class onednn_softmax {
 public:
  explicit onednn_softmax(std::uint32_t vocab_size)
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        shape_({1, static_cast<dnnl::memory::dim>(vocab_size)}, dnnl::memory::data_type::f32,
               dnnl::memory::format_tag::ab),
        softmax_({{dnnl::prop_kind::forward_inference, shape_, 1}, engine_}),
        size_(vocab_size),
        out_(bench_goals::row_to_write(vocab_size)),
        from_(shape_, engine_, out_.get()),
        to_(shape_, engine_, out_.get()) {}
  double operator()(std::span<const float> row) {
    from_.set_data_handle(const_cast<float*>(row.data()));
    softmax_.execute(stream_, {{DNNL_ARG_SRC, from_}, {DNNL_ARG_DST, to_}});
    stream_.wait();
    return static_cast<double>(out_.get()[size_ - 1]);
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory::desc shape_;
  dnnl::softmax_forward softmax_;
  std::uint32_t size_;
  std::shared_ptr<float> out_;
  dnnl::memory from_, to_;
};
#endif

inline peers packaged(std::uint32_t vocab_size) {
  peers all;
#ifdef SPECVERIFY_PEERS_ONEDNN
  all.push_back({"softmax", "oneDNN", onednn_softmax(vocab_size)});
#endif
#ifdef SPECVERIFY_PEERS_XNNPACK
  xnn_operator_t made = nullptr;
  bench_goals::must(xnn_initialize(nullptr) == xnn_status_success, "xnn_initialize");
  bench_goals::must(xnn_create_softmax_nc_f32(vocab_size, vocab_size, vocab_size, 0, &made) == xnn_status_success,
                    "xnn_create_softmax_nc_f32");
  all.push_back({"softmax", "XNNPACK", [made, out = bench_goals::row_to_write(vocab_size)](std::span<const float> row) {
                   bench_goals::must(
                       xnn_setup_softmax_nc_f32(made, 1, row.data(), out.get(), nullptr) == xnn_status_success &&
                           xnn_run_operator(made, nullptr) == xnn_status_success,
                       "xnn_run_operator");
                   return static_cast<double>(out.get()[row.size() - 1]);
                 }});
#endif
  (void)vocab_size;
  return all;
}

}  // namespace bench_peers

#endif
