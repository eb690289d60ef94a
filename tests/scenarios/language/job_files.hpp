// Reads files of jobs written in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/language/jobs/job_file.hpp"

namespace orrery::scenarios {

/// The only job that `text` holds; one of four roles, with a failure, where it is broken.
inline JobSpec read_job(std::string_view text) {
  auto file = parse_job_file(text, "jobs.yaml");
  if (file && file->jobs.size() == 1) return file->jobs.front();
  if (!file)
    for (const Error& error : file.errors()) ADD_FAILURE() << error.text();
  else
    ADD_FAILURE() << file->jobs.size() << " jobs";
  JobSpec empty;
  empty.roles.items().resize(4);
  return empty;
}

inline std::vector<std::string> texts_of(const Errors& errors) {
  std::vector<std::string> texts;
  for (const Error& error : errors) texts.push_back(error.text());
  return texts;
}

/// The texts of all errors in `text`; none, with a failure, where it is sound.
inline std::vector<std::string> job_file_errors(std::string_view text) {
  const auto file = parse_job_file(text, "jobs.yaml");
  if (!file) return texts_of(file.errors());
  ADD_FAILURE() << "no error in: " << text;
  return {};
}

/// The texts of all warnings about `text`, which is sound.
inline std::vector<std::string> job_file_warnings(std::string_view text) {
  const auto file = parse_job_file(text, "jobs.yaml");
  if (file) return texts_of(file->warnings);
  for (const Error& error : file.errors()) ADD_FAILURE() << error.text();
  return {};
}

}  // namespace orrery::scenarios
