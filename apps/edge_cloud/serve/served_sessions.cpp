// SPDX-License-Identifier: Apache-2.0
#include "served_sessions.hpp"

#include "../other_options.hpp"
#include "durable.hpp"
#include "refusal_text.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <system_error>

namespace edge_cloud {

namespace {

std::string name_of(std::uint64_t id) { return "session " + std::to_string(id); }
std::string name_of(const visitor& from) { return "device " + std::to_string(from.device); }

specverify::status named(refusal why) {
  const bool host = why == refusal::host_failed;
  return {host ? specverify::errc::engine_failed : specverify::errc::beyond_limit, specverify::part::host,
          static_cast<std::uint32_t>(why)};
}

//! Maps errors of the system. A full, worn-out or read-only disk is not the fault of a session's owner.
refusal refused_by_system(std::error_code why) {
  const int code =
      why.category() == std::generic_category() || why.category() == std::system_category() ? why.value() : 0;
  if (code == EMFILE || code == ENFILE) return refusal::descriptors;
  const bool disk = code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO || code == EROFS;
  return disk ? refusal::disk_failed : refusal::host_failed;
}

//! Returns an error for a folder that has more unfinished sessions than a limit allows.
std::runtime_error more_than(refusal limit, const serve_limits& limits, const std::filesystem::path& folder) {
  std::string option = "ulimit -n lets it have " + std::to_string(limits.open_files) + " sessions";
  if (limit == refusal::sessions) option = "--sessions " + std::to_string(limits.sessions);
  if (limit == refusal::sessions_of_device)
    option = "--sessions-of-device " + std::to_string(limits.sessions_of_device);
  if (limit == refusal::disk_full) option = "--disk-bytes " + std::to_string(limits.disk_bytes);
  return std::runtime_error(option + ": --state-dir " + folder.string() +
                            " has more unfinished sessions; pass the earlier value, or another --state-dir");
}

}  // namespace

std::vector<std::byte> refusal_message(const specverify::hello_name& hello, specverify::status why) {
  std::array<std::byte, 64> space{};
  const auto bytes = specverify::encode_refuse(hello, why, space);
  if (!bytes) return {};
  return {bytes->begin(), bytes->end()};
}

served_sessions::served_sessions(const serve_parts& parts, serve_log& log, std::uint64_t now)
    : parts_(parts), log_(log), damaged_(parts.run.state / "damaged", parts.limits) {
  std::filesystem::create_directories(parts_.run.state / "sessions");
  sync_to_disk(parts_.run.state);
  restore(now);
}

//! Restores all sessions, and ignores a folder that holds no session. A folder without an owner is removed, because its
//! device never got an answer, or the process was killed while it forgot the session.
void served_sessions::restore(std::uint64_t now) {
  std::vector<std::uint64_t> ids;
  for (const auto& found : std::filesystem::directory_iterator(parts_.run.state / "sessions")) {
    if (const auto id = session_folder::id_of(found.path())) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  for (const std::uint64_t id : ids) {
    const auto at = entries_.try_emplace(id, parts_, id, 0u, disk_).first;
    if (!restore_owner(at, now)) {
      forget(at);
      continue;
    }
    restore(at, now);
    const refusal beyond = hold_limits(at->second.owner, 0);
    if (beyond != refusal::none) throw more_than(beyond, parts_.limits, parts_.run.state);
  }
  peak_ = entries_.size();
}

bool served_sessions::restore_owner(entry_map::iterator of, std::uint64_t now) {
  entry& e = of->second;
  if (!e.folder.has_owner()) return false;
  std::string why = "its owner file is damaged";
  try {
    if (const auto owner = e.folder.owner()) {
      e.owner = *owner;
      return true;
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  set_aside(of, why + "; any device may open it", now);
  return false;
}

//! Restores one session. If that fails, the session keeps its owner, who can begin it again if the guarantee allows
//! that.
void served_sessions::restore(entry_map::iterator of, std::uint64_t now) {
  entry& e = of->second;
  e.heard = now;
  e.session = std::make_unique<served_session>(parts_, e.folder);  // throws if the server's own options are wrong
  const std::string again = parts_.required == specverify::guarantee::unconditional
                                ? "; the device can begin it again if it has only the prompt"
                                : "; the device begins it again";
  std::string why, dropped;
  try {
    const auto found = e.session->restore(now, [](std::span<const std::byte>) {});
    if (!found) why = told_in_log(found.error());
    if (found && *found > 0) dropped = "; " + unfinished_text(*found);
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!why.empty()) return set_aside(of, why + again, now);
  e.told = e.session->is_over();
  const std::string found = e.session->is_blank() ? ": no journal" + again
                            : e.told              ? ": restored; it is over"
                                                  : ": restored";
  log_.event(name_of(of->first) + found + dropped, now);
  step(of, now, [](entry&, const message_sender&) { return refusal::none; });
}

void served_sessions::set_aside(entry_map::iterator of, const std::string& why, std::uint64_t now) {
  const std::string said = name_of(of->first) + " cannot be restored: " + why;
  if (parts_.strict_restore)
    throw std::runtime_error("--strict-restore: --state-dir " + parts_.run.state.string() + ": " + said +
                             " without this option; give the options it began with, or another --state-dir");
  const std::filesystem::path kept = of->second.folder.set_aside(damaged_);
  log_.failure(said + (kept.empty() ? "" : "; kept as " + kept.string()), now);
}

refusal served_sessions::receive(const std::shared_ptr<visitor>& from, std::span<const std::byte> message,
                                 std::uint64_t now) {
  const auto greeted = specverify::name_of(message);
  refusal beyond = parts_.rates.message(from->device, now);
  if (beyond == refusal::none && greeted) beyond = parts_.rates.handshake(from->device, now);
  if (beyond != refusal::none) return beyond;
  const outcome found = greeted ? greet(from, *greeted, message, now) : hear(from, message, now);
  if (found.why != refusal::none) log_.refused(found.why, name_of(*from), now);
  if (found.why == refusal::other_version) return found.why;
  if (found.why == refusal::none && found.useful) return refusal::none;
  from->useless += 1;
  return exceeds(refusal::useless_frames, from->useless, parts_.limits.useless_frames) ? refusal::useless_frames
                                                                                       : refusal::none;
}

//! Takes a message other than hello for the connection's session.
served_sessions::outcome served_sessions::hear(const std::shared_ptr<visitor>& from, std::span<const std::byte> message,
                                               std::uint64_t now) {
  const auto at = from->hello ? entries_.find(from->hello->session_id) : entries_.end();
  if (at == entries_.end() || !at->second.session || at->second.link.lock() != from) {
    if (from->hello)
      from->send(refusal_message(*from->hello, {specverify::errc::no_handshake, specverify::part::session, 0}));
    return {refusal::none, false};
  }
  const std::uint64_t bad = at->second.session->unreadable();
  pass_on(at, message, now);
  return {refusal::none, at->second.session && at->second.session->unreadable() == bad};
}

//! Assigns the session to a connection. A connection has one session and a session one connection, so the session's old
//! connection is closed.
void served_sessions::connect(const std::shared_ptr<visitor>& from, entry_map::iterator to,
                              const specverify::hello_name& name) {
  const auto left = from->hello ? entries_.find(from->hello->session_id) : entries_.end();
  if (left != entries_.end() && left != to && left->second.link.lock() == from) left->second.link.reset();
  if (const auto other = to->second.link.lock(); other && other != from) other->close();
  from->hello = to->second.hello = name;
  to->second.link = from;
}

//! Returns the session with this id. If the server failed at it, or had no disk for it, the session is forgotten when
//! its owner returns, so that the owner can begin it again.
served_sessions::entry_map::iterator served_sessions::found_for(const visitor& from, std::uint64_t id) {
  const auto at = entries_.find(id);
  if (at == entries_.end() || at->second.session || at->second.owner != from.device) return at;
  if (at->second.ended == refusal::journal_full) return at;
  forget(at);
  return entries_.end();
}

served_sessions::outcome served_sessions::greet(const std::shared_ptr<visitor>& from,
                                                const specverify::hello_name& name, std::span<const std::byte> hello,
                                                std::uint64_t now) {
  if (const auto why = specverify::decode_hello(hello).error(); why.code == specverify::errc::unknown_version) {
    from->send(refusal_message(name, why));
    return {refusal::other_version};
  }
  const auto at = found_for(*from, name.session_id);
  if (at == entries_.end()) return begin(from, name, hello, now);
  entry& found = at->second;
  if (exceeds(refusal::not_the_owner, found.owner == from->device ? 0 : 1, 0)) {
    from->send(refusal_message(name, {specverify::errc::refused_by_peer, specverify::part::host,
                                      static_cast<std::uint32_t>(refusal::not_the_owner)}));
    return {refusal::not_the_owner};
  }
  found.heard = now;
  connect(from, at, name);
  if (!found.session) {
    from->send(refusal_message(name, named(found.ended)));
    return {found.ended};
  }
  pass_on(at, hello, now);
  return {};
}

//! Takes the first hello of a session. Other sessions are deleted for it only if the library accepts the hello and the
//! limits allow the session.
served_sessions::outcome served_sessions::begin(const std::shared_ptr<visitor>& from,
                                                const specverify::hello_name& name, std::span<const std::byte> hello,
                                                std::uint64_t now) {
  const std::uint64_t id = name.session_id;
  const auto of = entries_.try_emplace(id, parts_, id, from->device, disk_).first;
  of->second.folder.own(from->device);
  of->second.heard = now;
  of->second.hello = name;
  of->second.link = from;
  refusal beyond = refusal::none;
  step(of, now, [&](entry& e, const message_sender& send) {
    e.session = std::make_unique<served_session>(parts_, e.folder);
    e.session->hear(hello, now);
    if (!e.session->is_blank()) beyond = hold_limits(from->device, session_folder::least_bytes);
    return beyond == refusal::none ? e.session->answer(now, send) : refusal::none;
  });
  const std::string who = name_of(*from), what = name_of(id);
  if (beyond != refusal::none) {
    forget(of);
    from->send(refusal_message(name, named(beyond)));
    return {beyond};
  }
  if (of->second.session && of->second.session->is_blank()) {  // the library refused the hello with an error
    log_.device_event(who + ": " + what + " was not opened: " + told_in_log(of->second.session->why_refused()), now);
    forget(of);
    return {refusal::none, false};
  }
  peak_ = std::max(peak_, entries_.size());
  connect(from, of, name);
  // the server failed in this session, and has reported the failure
  if (!of->second.session) return {refusal::none, false};
  log_.device_event(who + " opens " + what, now);
  return {};
}

//! Returns the sessions that are finished or that a limit ended, the least recently used first.
std::vector<served_sessions::entry_map::iterator> served_sessions::over() {
  std::vector<entry_map::iterator> found;
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (!at->second.session || at->second.session->is_over()) found.push_back(at);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a->second.heard < b->second.heard; });
  return found;
}

//! Checks the limits for the current sessions and `more_bytes`; the last session belongs to `owner`. If a limit is
//! exceeded, finished sessions are deleted. Returns none, or the limit that remains exceeded; in this case no session
//! is deleted.
refusal served_sessions::hold_limits(std::uint64_t owner, std::uint64_t more_bytes) {
  std::vector<entry_map::iterator> may_leave = over(), leaving;
  std::uint64_t of_owner = count_of(owner), of_all = entries_.size(), bytes = disk_.used + more_bytes;
  refusal beyond = refusal::none;
  const auto hold = [&](refusal limit, const std::uint64_t& held, std::uint64_t most) {
    const bool of_owner_alone = limit == refusal::sessions_of_device;
    while (beyond == refusal::none && exceeds(limit, held, most)) {
      const auto next = std::find_if(may_leave.begin(), may_leave.end(),
                                     [&](const auto& at) { return !of_owner_alone || at->second.owner == owner; });
      if (next == may_leave.end()) return void(beyond = limit);
      const entry& gone = (*next)->second;
      of_owner -= gone.owner == owner ? 1 : 0;
      of_all -= 1;
      bytes -= gone.folder.disk_bytes();
      leaving.push_back(*next);
      may_leave.erase(next);
    }
  };
  hold(refusal::sessions_of_device, of_owner, parts_.limits.sessions_of_device);
  hold(refusal::sessions, of_all, parts_.limits.sessions);
  hold(refusal::descriptors, of_all, parts_.limits.open_files);
  hold(refusal::disk_full, bytes, parts_.limits.disk_bytes);
  if (beyond != refusal::none) return beyond;
  for (const auto& at : leaving) forget(at);
  return refusal::none;
}

void served_sessions::pass_on(entry_map::iterator to, std::span<const std::byte> message, std::uint64_t now) {
  step(to, now, [&](entry& e, const message_sender& send) {
    e.heard = now;
    return e.session->receive(message, now, send);
  });
}

std::deque<std::uint64_t>::const_iterator served_sessions::next_to_work(std::uint64_t now) const {
  return std::find_if(waiting_.begin(), waiting_.end(), [&](std::uint64_t id) {
    const auto at = entries_.find(id);
    const bool waits = at != entries_.end() && at->second.session && at->second.session->wants_work();
    return !waits || at->second.session->may_work(now);  // sessions that no longer wait are removed
  });
}

void served_sessions::work(std::uint64_t now) {
  const auto next = next_to_work(now);
  const std::uint64_t id = *next;
  waiting_.erase(next);
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  at->second.waits = false;
  if (!at->second.session || !at->second.session->wants_work()) return;
  step(at, now, [&](entry& e, const message_sender& send) { return e.session->work(now, send); });
}

//! Runs a step. An error in a session must end only that session.
template <class Step>
void served_sessions::step(entry_map::iterator of, std::uint64_t now, Step&& step) {
  entry& e = of->second;
  const message_sender send = [&e](std::span<const std::byte> message) {
    if (const auto link = e.link.lock()) link->send(message);
  };
  refusal why = refusal::none;
  const std::uint64_t written = e.folder.written();
  try {
    why = step(e, send);
  } catch (const std::system_error& error) {
    log_.failure(name_of(of->first) + ": " + error.what(), now);
    why = refused_by_system(error.code());
  } catch (const std::exception& error) {
    log_.failure(name_of(of->first) + ": " + error.what(), now);
    why = refusal::host_failed;
  }
  parts_.rates.wrote(e.owner, e.folder.written() - written, now);
  if (why != refusal::none) return end(of, why, now);
  if (e.session->wants_work() && !e.waits) {
    e.waits = true;
    waiting_.push_back(of->first);
  }
  if (e.session->is_over() && !e.told) {
    const specverify::status reason = e.session->why_refused();
    const std::string ended = e.session->is_cancelled() ? ": ended by its device" : ": complete";
    log_.device_event(name_of(of->first) + (reason.ok() ? ended : ": over: " + told_in_log(reason)), now);
  }
  e.told = e.session->is_over();
}

//! Ends a session. The owner receives the reason now, and again after each hello.
void served_sessions::end(entry_map::iterator of, refusal why, std::uint64_t now) {
  entry& e = of->second;
  log_.refused(why, name_of(of->first), now);
  if (const auto link = e.link.lock()) link->send(refusal_message(e.hello, named(why)));
  e.ended = why;
  e.session.reset();
  e.folder.remove();
}

void served_sessions::sweep(std::uint64_t now) {
  const std::uint64_t most = std::uint64_t{parts_.limits.idle_session_seconds} * 1'000'000;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    if (now > at->second.heard && exceeds(refusal::idle_session, now - at->second.heard, most)) {
      log_.refused(refusal::idle_session, name_of(at->first), now);
      forget(at);
    }
    at = next;
  }
}

void served_sessions::forget(entry_map::iterator of) {
  of->second.session.reset();
  of->second.folder.remove();
  entries_.erase(of);
}

std::size_t served_sessions::count_of(std::uint64_t owner) const {
  const auto of_owner = [owner](const auto& at) { return at.second.owner == owner; };
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), of_owner));
}

}  // namespace edge_cloud
