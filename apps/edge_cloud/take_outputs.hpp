// SPDX-License-Identifier: Apache-2.0
//! The host's half of a session's contract, the same for the edge and the cloud: do what the session asks for, in
//! order.
#ifndef EDGE_CLOUD_TAKE_OUTPUTS_HPP
#define EDGE_CLOUD_TAKE_OUTPUTS_HPP

#include <specverify/session/output.hpp>

#include "engine.hpp"
#include "state_file.hpp"

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace edge_cloud {

struct outlets {
  std::function<void(std::span<const std::byte>)> send;
  std::function<void(const specverify::session_output&)> committed;  //!< may be empty
  std::function<void()> finished;                                    //!< may be empty
  //! may be empty: mismatches whose scores are wanted
  std::function<void(const specverify::session_output&)> judge;
};

//! Takes outputs until there is none. Returns how many rows the engine has computed for the session to take, 0 if none
//! are wanted.
template <class Session>
[[nodiscard]] std::uint32_t take_outputs(Session& session, engine& model, std::optional<state_file>& journal,
                                         const outlets& out) {
  std::uint32_t rows = 0;
  for (specverify::session_output next = session.next(); next.action != specverify::session_action::none;
       next = session.next()) {
    switch (next.action) {
      case specverify::session_action::journal:
        if (journal) journal->append(next.bytes);
        break;
      case specverify::session_action::send:
        out.send(next.bytes);
        break;
      case specverify::session_action::evaluate:
        model.feed(next.position, next.tokens, next.rows);
        rows = next.rows;
        break;
      case specverify::session_action::rollback:
        model.truncate(next.position);
        break;
      case specverify::session_action::committed:
        if (out.committed) out.committed(next);
        break;
      case specverify::session_action::score:
        if (out.judge) out.judge(next);
        break;
      case specverify::session_action::finished:
        if (out.finished) out.finished();
        break;
      case specverify::session_action::failed:
        throw std::runtime_error(std::string("the session failed: ") + specverify::message(next.reason.code));
      case specverify::session_action::tentative:
      case specverify::session_action::retracted:
      case specverify::session_action::none:
        break;
    }
  }
  return rows;
}

//! An input that a session does not use (a late, repeated or damaged message) is counted in its statistics; the host
//! has nothing to do.
inline void counted_by_session(specverify::status) noexcept {}

}  // namespace edge_cloud

#endif
