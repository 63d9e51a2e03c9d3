// SPDX-License-Identifier: Apache-2.0
//! Adds the commands `serve` and `device`. If the program was built without OpenSSL or spdlog, the commands report an
//! error.
#ifndef EDGE_CLOUD_SERVE_SERVE_COMMANDS_HPP
#define EDGE_CLOUD_SERVE_SERVE_COMMANDS_HPP

#include <memory>
#include <optional>

namespace CLI {
class App;
}

namespace edge_cloud {

class serve_commands {
 public:
  serve_commands();
  ~serve_commands();
  serve_commands(const serve_commands&) = delete;
  serve_commands& operator=(const serve_commands&) = delete;

  void add_to(CLI::App& app);
  //! Returns the exit code if one of the two commands was given. Throws if the options are invalid.
  [[nodiscard]] std::optional<int> run(const CLI::App& app);

 private:
  struct options;
  std::unique_ptr<options> options_;
};

}  // namespace edge_cloud

#endif
