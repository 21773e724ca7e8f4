/** The store port over the statements; no logic of its own. */

import type { Store } from "../core/ports.js";
import type { Database } from "./client.js";
import { applyDeclared } from "./sql/apply-declared.js";
import { beginEffect } from "./sql/begin-effect.js";
import { cancel } from "./sql/cancel.js";
import { changeSchedule } from "./sql/change-schedule.js";
import { claim } from "./sql/claim.js";
import { claimDue } from "./sql/claim-due.js";
import { create } from "./sql/create.js";
import { createSchedule } from "./sql/create-schedule.js";
import { dueSchedules } from "./sql/due-schedules.js";
import { endEffect } from "./sql/end-effect.js";
import { enqueue, enqueueStatement } from "./sql/enqueue.js";
import { findReplay } from "./sql/find-replay.js";
import { finish } from "./sql/finish.js";
import { groupDeadLetters } from "./sql/group-dead-letters.js";
import { health } from "./sql/health.js";
import { heartbeat } from "./sql/heartbeat.js";
import { listJobs } from "./sql/list-jobs.js";
import { makeSlots } from "./sql/make-slots.js";
import { markAlertTold } from "./sql/mark-alert-told.js";
import { markHopped } from "./sql/mark-hopped.js";
import { markUnpublished } from "./sql/mark-unpublished.js";
import { probeSilentTypes } from "./sql/probe-silent-types.js";
import { pruneJobs } from "./sql/prune-jobs.js";
import { pruneMonitoring } from "./sql/prune-monitoring.js";
import { purgeIdempotencyRecords } from "./sql/purge-idempotency-records.js";
import { read } from "./sql/read.js";
import { readHistory } from "./sql/read-history.js";
import { readRecent } from "./sql/read-recent.js";
import { readReplay } from "./sql/read-replay.js";
import { readSchedules } from "./sql/read-schedules.js";
import { readStats } from "./sql/read-stats.js";
import { readTimeline } from "./sql/read-timeline.js";
import { readTotals } from "./sql/read-totals.js";
import { recordSweep } from "./sql/record-sweep.js";
import { recoverLeases } from "./sql/recover-leases.js";
import { replay } from "./sql/replay.js";
import { countReplayable, replayMany } from "./sql/replay-many.js";
import { rollUpStats } from "./sql/roll-up-stats.js";
import { runNow } from "./sql/run-now.js";
import { runSchedule } from "./sql/run-schedule.js";
import { settleEffect } from "./sql/settle-effect.js";
import { takeAlerts } from "./sql/take-alerts.js";
import { takeNudged } from "./sql/take-nudged.js";
import { takeUnpublished } from "./sql/take-unpublished.js";
import { takeVanished } from "./sql/take-vanished.js";
import { listTypeStates, setTypePaused } from "./sql/type-states.js";

/** Binds every statement to one database client. */
export function createStore(db: Database): Store {
  return {
    create: (request, jobs, shape) => create(db, request, jobs, shape),
    findReplay: (request) => findReplay(db, request),
    read: (jobId, actor) => read(db, jobId, actor),
    enqueue: (tenant, job) => enqueue(db, tenant, job),
    enqueueStatement,
    takeNudged: (jobIds, take) => takeNudged(db, jobIds, take),
    listJobs: (filter, actor, page) => listJobs(db, filter, actor, page),
    readTimeline: (jobId, actor, itemsMax) => readTimeline(db, jobId, actor, itemsMax),
    readStats: (actor, countMax) => readStats(db, actor, countMax),
    claim: (request) => claim(db, request),
    claimDue: (types, lockToken) => claimDue(db, types, lockToken),
    heartbeat: (attempt, progress) => heartbeat(db, attempt, progress),
    finish: (request) => finish(db, request),
    beginEffect: (effect, rerunUnknown) => beginEffect(db, effect, rerunUnknown),
    endEffect: (effect, end) => endEffect(db, effect, end),
    cancel: (jobId, action) => cancel(db, jobId, action),
    replay: (jobId, action, options) => replay(db, jobId, action, options),
    runNow: (jobId, action, options) => runNow(db, jobId, action, options),
    replayMany: (filter, action, options) => replayMany(db, filter, action, options),
    countReplayable: (filter, actor) => countReplayable(db, filter, actor),
    settleEffect: (jobId, name, settlement, action) =>
      settleEffect(db, jobId, name, settlement, action),
    markHopped: (jobId, seq) => markHopped(db, jobId, seq),
    markUnpublished: (wakeups) => markUnpublished(db, wakeups),
    setTypePaused: (type, paused, action) => setTypePaused(db, type, paused, action),
    listTypeStates: () => listTypeStates(db),
    createSchedule: (schedule) => createSchedule(db, schedule),
    readSchedules: (actor, ref, limit) => readSchedules(db, actor, ref, limit),
    changeSchedule: (ref, change, action) => changeSchedule(db, ref, change, action),
    runSchedule: (ref, jobId, types, action) => runSchedule(db, ref, jobId, types, action),
    dueSchedules: (declared, aheadSeconds, limit) =>
      dueSchedules(db, declared, aheadSeconds, limit),
    applyDeclared: (declared, limit) => applyDeclared(db, declared, limit),
    makeSlots: (plans, types) => makeSlots(db, plans, types),
    recoverLeases: (types, take) => recoverLeases(db, types, take),
    takeUnpublished: (take) => takeUnpublished(db, take),
    probeSilentTypes: (take) => probeSilentTypes(db, take),
    takeVanished: (take) => takeVanished(db, take),
    purgeIdempotencyRecords: (limit) => purgeIdempotencyRecords(db, limit),
    pruneJobs: (retention, limit) => pruneJobs(db, retention, limit),
    rollUpStats: (limit) => rollUpStats(db, limit),
    readTotals: () => readTotals(db),
    pruneMonitoring: (limit) => pruneMonitoring(db, limit),
    takeAlerts: (thresholds, limit) => takeAlerts(db, thresholds, limit),
    markAlertTold: (id, phase) => markAlertTold(db, id, phase),
    readHistory: (buckets) => readHistory(db, buckets),
    readRecent: (tenant, buckets, attemptsMax) => readRecent(db, tenant, buckets, attemptsMax),
    groupDeadLetters: (tenant, lettersMax) => groupDeadLetters(db, tenant, lettersMax),
    readReplay: (actionId, tenant) => readReplay(db, actionId, tenant),
    recordSweep: () => recordSweep(db),
    health: () => health(db),
  };
}
