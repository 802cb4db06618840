#include "sim/local_search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "common/check.h"
#include "common/levels.h"
#include "common/random.h"
#include "sim/annealer.h"
#include "sim/critical_path.h"
#include "sim/device_choices.h"
#include "sim/enum_opt.h"
#include "sim/etf.h"
#include "sim/heft.h"
#include "sim/operation_groups.h"
#include "sim/search_monitor.h"
#include "sim/search_schedule.h"

namespace doppler {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

class LocalSearch {
 public:
  LocalSearch(const CostTable& costs, std::span<Executor* const> executors,
              const LocalSearchOptions& options)
      : costs_(costs),
        executors_(executors),
        options_(options),
        begin_(Clock::now()),
        choices_(costs),
        groups_(symmetry_groups(costs.graph())),
        random_(derive_seed({options.seed, 0x57a27})) {
    if (choices_.free_operations().empty()) return;
    for (std::size_t t = 0; t < executors.size(); ++t) {
      annealers_.push_back(std::make_unique<Annealer>(costs, choices_, groups_, *executors[t],
                                                      monitor_,
                                                      derive_seed({options.seed, 0x10ca15ea, t})));
    }
  }

  BaselineResult run() {
    evaluate_starts();
    const SearchSchedule schedule(
        evaluations_per_thread(), choices_.free_operations().size(),
        given_start_leads_ ? SearchSchedule::Aim::kRefine : SearchSchedule::Aim::kFind);
    for (int round = 0; round < schedule.rounds() && !annealers_.empty() && !over(); ++round) {
      run_round(schedule, round);
    }
    BaselineResult result;
    result.assignment = best_.assignment;
    result.order = best_.order;
    result.makespan = best_.makespan;
    result.feasible = best_.feasible;
    result.stopped_early = options_.stop.stop_requested() && used_share() < 1 &&
                           !annealers_.empty() && monitor_.best() > options_.target;
    result.evaluations = monitor_.evaluations();
    return result;
  }

 private:
  bool by_time() const { return options_.seconds > 0; }
  double used_share() const {
    if (!by_time()) {
      return static_cast<double>(monitor_.evaluations()) /
             static_cast<double>(options_.evaluations);
    }
    return Seconds(Clock::now() - begin_).count() / options_.seconds;
  }
  bool over() {
    if (options_.stop.stop_requested() || monitor_.best() <= options_.target) {
      monitor_.request_stop();
    }
    return monitor_.stop_requested() || used_share() >= 1;
  }

  void evaluate_starts() {
    const PartialSchedule heft = heft_schedule(costs_);
    default_order_ = heft.order();
    for (const SearchStart& start : options_.starts) add_start(start);
    const SearchPoint given = best_;
    evaluate_list_schedules(heft);
    given_start_leads_ = options_.refine && !options_.starts.empty() && !best_.better_than(given);
    evaluation_seconds_ = evaluation_time_.count() / static_cast<double>(starts_.size());
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const SearchPoint& a, const SearchPoint& b) { return a.better_than(b); });
  }

  void evaluate_list_schedules(const PartialSchedule& heft) {
    add_start({heft.assignment(), heft.order()});
    if (over()) return;
    const PartialSchedule path = critical_path_schedule(costs_, compute_levels(costs_), random_);
    add_start({path.assignment(), path.order()});
    if (over()) return;
    EnumOptPlan dealt = enum_opt_plan(costs_);
    add_start({std::move(dealt.assignment), std::move(dealt.order)});
    if (!over()) {
      const PartialSchedule earliest = etf_schedule(costs_);
      add_start({earliest.assignment(), earliest.order()});
    }
  }

  void add_start(const SearchStart& start) {
    if (!starts_.empty() && over()) return;
    starts_.push_back(evaluate(start));
  }

  SearchPoint evaluate(const SearchStart& start) {
    SearchPoint point;
    point.assignment = start.assignment;
    point.order = start.order.empty() ? default_order_ : start.order;
    const Clock::time_point before = Clock::now();
    point.makespan = executors_[0]->run(point.assignment, point.order);
    evaluation_time_ += Clock::now() - before;
    point.feasible = executors_[0]->feasible();
    monitor_.add_evaluations(1);
    keep(point);
    return point;
  }

  void keep(const SearchPoint& point) {
    if (!point.assignment.empty() && (best_.assignment.empty() || point.better_than(best_))) {
      best_ = point;
    }
    if (best_.feasible) monitor_.lower_best(best_.makespan);
  }

  // An estimate where the budget is in seconds.
  double evaluations_per_thread() const {
    if (!by_time()) {
      return static_cast<double>(options_.evaluations) / static_cast<double>(executors_.size());
    }
    return options_.seconds / evaluation_seconds_;
  }

  AnnealingPlan plan_of(const SearchSchedule& schedule, int round, std::size_t thread) const {
    AnnealingPlan plan;
    const double slot = static_cast<double>(starts_.front().makespan.ticks()) *
                        costs_.device_count() /
                        static_cast<double>(starts_.front().assignment.size());
    const SearchTemperatures temperatures = schedule.temperatures(round);
    plan.first_temperature = slot * temperatures.first;
    plan.last_temperature = slot * temperatures.last;
    if (by_time()) {
      plan.begin = Clock::now();
      plan.end = begin_ + std::chrono::duration_cast<Clock::duration>(
                              Seconds(options_.seconds) * (round + 1) / schedule.rounds());
      return plan;
    }
    // A share of what is left, so that the sum is exact whatever the starts have cost.
    const auto threads = static_cast<std::int64_t>(executors_.size());
    const std::int64_t left = options_.evaluations - monitor_.evaluations();
    const std::int64_t share = left / (schedule.rounds() - round);
    plan.evaluations = share / threads + (static_cast<std::int64_t>(thread) < share % threads);
    return plan;
  }

  void run_round(const SearchSchedule& schedule, int round) {
    std::vector<SearchPoint> points;
    for (std::size_t t = 0; t < annealers_.size(); ++t) {
      points.push_back(schedule.from_starts(round)
                           ? next_start(static_cast<std::size_t>(round) * annealers_.size() + t)
                           : best_);
    }
    std::vector<AnnealingPlan> plans;
    for (std::size_t t = 0; t < annealers_.size(); ++t) {
      plans.push_back(plan_of(schedule, round, t));
    }
    std::vector<std::exception_ptr> failures(annealers_.size());
    const auto work = [&](std::size_t t, const std::function<void()>& report) {
      try {
        if (plans[t].evaluations > 0 || by_time()) {
          annealers_[t]->anneal(points[t], plans[t], report);
        }
      } catch (...) {
        failures[t] = std::current_exception();
        monitor_.request_stop();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 1; t < annealers_.size(); ++t) {
        threads.emplace_back([&work, t] { work(t, [] {}); });
      }
      work(0, [this] { report(); });
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
    for (const std::unique_ptr<Annealer>& annealer : annealers_) keep(annealer->best());
  }

  // The starts by rising cost; when all are used up, new ones of the critical path's ties.
  SearchPoint next_start(std::size_t number) {
    if (number < starts_.size() || over()) return starts_[number % starts_.size()];
    const PartialSchedule path = critical_path_schedule(costs_, compute_levels(costs_), random_);
    return evaluate({path.assignment(), path.order()});
  }

  void report() {
    over();
    if (!options_.on_progress) return;
    options_.on_progress({.fraction = std::min(1.0, used_share()),
                          .evaluations = monitor_.evaluations(),
                          .best = monitor_.best()});
  }

  const CostTable& costs_;
  const std::span<Executor* const> executors_;
  const LocalSearchOptions& options_;
  const Clock::time_point begin_;
  const DeviceChoices choices_;
  const std::vector<std::vector<OperationId>> groups_;
  RandomStream random_;
  SearchMonitor monitor_;
  std::vector<std::unique_ptr<Annealer>> annealers_;  // one a thread; none: nothing to decide
  std::vector<OperationId> default_order_;
  std::vector<SearchPoint> starts_;  // by rising cost
  SearchPoint best_;
  Seconds evaluation_time_{0};     // of all starts
  double evaluation_seconds_ = 0;  // of one, on average
  bool given_start_leads_ = false;
};

}  // namespace

BaselineResult local_search(const CostTable& costs, std::span<Executor* const> executors,
                            const LocalSearchOptions& options) {
  DP_CHECK_GE(options.evaluations, 1);
  DP_CHECK_GE(executors.size(), 1U);
  return LocalSearch(costs, executors, options).run();
}

BaselineResult local_search(const CostTable& costs, Executor& executor,
                            const LocalSearchOptions& options) {
  const std::array<Executor*, 1> executors = {&executor};
  return local_search(costs, executors, options);
}

}  // namespace doppler
