// SPDX-License-Identifier: Apache-2.0
// Ends a text after ten tokens: the host's observer returns an error at the tenth token, and the session tells the
// cloud.
#include <specverify_c.h>

static int32_t ten_tokens(void* self, const specverify_output* out) {
  size_t* const heard = (size_t*)self;
  if (out->action == SPECVERIFY_COMMITTED) *heard += out->token_count;
  return *heard < 10 ? 0 : specverify_errc_session_closed;
}
static specverify_status write_ten(specverify_edge* edge, const specverify_model* drafter, specverify_cloud* cloud,
                                   const specverify_model* target) {
  size_t heard = 0;
  const specverify_observer observer = specverify_observer_of(&heard, ten_tokens);
  specverify_status why = specverify_run_pair(edge, drafter, cloud, target, &observer);
  if (why.code != specverify_errc_session_closed) return why;
  why = specverify_edge_drive(edge, drafter, NULL, 0);  // this call handles the outputs that wait
  if (why.code == 0) why = specverify_edge_stop(edge, SPECVERIFY_STOP_CANCELLED, 0);
  return why.code == 0 ? specverify_run_pair(edge, drafter, cloud, target, NULL) : why;
}
