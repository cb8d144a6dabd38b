/**
 * All metrics of the program, by what they measure. The names follow the conventions of Prometheus:
 * base units, and no id, address or name of anyone in a label.
 */
import { CODES } from '../errors.ts'
import { Counter, Gauge, Histogram } from './instruments.ts'

/** The media types of the metrics: OpenMetrics, and the older text format of Prometheus. */
export const METRICS_TYPES = [
  'application/openmetrics-text; version=1.0.0; charset=utf-8',
  'text/plain; version=0.0.4; charset=utf-8',
] as const

/** What a listener serves: the API of a daemon, an account server, or only metrics. */
const LISTENERS = ['api', 'account', 'metrics'] as const
export type ListenerName = (typeof LISTENERS)[number]

/** Methods of requests. `other` is the method of requests to no route. */
const METHODS = ['GET', 'POST', 'PATCH', 'DELETE', 'other'] as const
export type CountedMethod = (typeof METHODS)[number]

/** Work that no request waits for. */
const JOBS = [
  'ending guest codes',
  'exports',
  'index builds',
  'public words',
  'retention',
  'sweep of idempotent operations',
  'sweep of mailbox claims',
  'sweep of used assertions',
  'sweep of used proofs',
] as const
export type ScheduledJob = (typeof JOBS)[number]

/** What a ready program depends on. */
export const SERVICES = [
  'state_folder',
  'keychain',
  'account',
  'account_server',
  'database',
  'mail',
  'clock',
  'sync',
] as const
export type DependencyName = (typeof SERVICES)[number]

const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const QUERY_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5]
const WORK_BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 600]

export const METRICS = {
  build: new Gauge({
    name: 'countersign_build_info',
    labels: { version: 'program', node: 'program' },
  }),
  dependencies: new Gauge({
    name: 'countersign_dependency_up',
    labels: { service: SERVICES },
  }),
  requests: new Counter({
    name: 'countersign_http_requests_total',
    labels: { listener: LISTENERS, method: METHODS, route: 'program', status: 'program' },
  }),
  requestDuration: new Histogram({
    name: 'countersign_http_request_duration_seconds',
    labels: { listener: LISTENERS, method: METHODS, route: 'program' },
    bounds: REQUEST_BOUNDS,
  }),
  requestErrors: new Counter({
    name: 'countersign_http_errors_total',
    labels: { listener: LISTENERS, code: CODES },
  }),
  guardRefusals: new Counter({
    name: 'countersign_guard_refusals_total',
    labels: { listener: LISTENERS, code: CODES },
  }),
  connections: new Gauge({
    name: 'countersign_http_connections',
    labels: { listener: LISTENERS },
  }),
  streams: new Gauge({
    name: 'countersign_http_open_streams',
    labels: { listener: LISTENERS, route: 'program' },
  }),
  queryDuration: new Histogram({
    name: 'countersign_database_query_duration_seconds',
    labels: { engine: ['sqlite', 'postgresql'] },
    bounds: QUERY_BOUNDS,
  }),
  queryFailures: new Counter({
    name: 'countersign_database_query_failures_total',
    labels: { engine: ['sqlite', 'postgresql'] },
  }),
  commitDuration: new Histogram({
    name: 'countersign_state_commit_duration_seconds',
    labels: {},
    bounds: QUERY_BOUNDS,
  }),
  pool: new Gauge({
    name: 'countersign_database_pool_connections',
    labels: { state: ['idle', 'in_use'] },
  }),
  poolSize: new Gauge({
    name: 'countersign_database_pool_size',
    labels: {},
  }),
  poolWaiting: new Gauge({
    name: 'countersign_database_pool_waiting',
    labels: {},
  }),
  syncs: new Counter({
    name: 'countersign_syncs_total',
    labels: {
      trigger: ['start', 'timer', 'hint', 'request'],
      result: ['succeeded', 'failed'],
    },
  }),
  syncDuration: new Histogram({
    name: 'countersign_sync_duration_seconds',
    labels: {},
    bounds: WORK_BOUNDS,
  }),
  lastSync: new Gauge({
    name: 'countersign_sync_last_success_timestamp_seconds',
    labels: {},
  }),
  hintStream: new Gauge({
    name: 'countersign_hint_stream_open',
    labels: {},
  }),
  waiting: new Gauge({
    name: 'countersign_sync_waiting',
    labels: { kind: ['verifications', 'stamps', 'rotations'] },
  }),
  verifications: new Counter({
    name: 'countersign_verifications_total',
    labels: {
      method: ['local', 'public'],
      outcome: ['verified', 'not_verified', 'inconclusive', 'echo'],
    },
  }),
  mails: new Counter({
    name: 'countersign_mails_total',
    labels: { result: ['sent', 'refused', 'failed'] },
  }),
  mailsWaiting: new Gauge({
    name: 'countersign_mails_waiting',
    labels: {},
  }),
  jobs: new Counter({
    name: 'countersign_job_runs_total',
    labels: { task: JOBS, result: ['succeeded', 'failed'] },
  }),
  jobDuration: new Histogram({
    name: 'countersign_job_duration_seconds',
    labels: { task: JOBS },
    bounds: WORK_BOUNDS,
  }),
  lastJob: new Gauge({
    name: 'countersign_job_last_success_timestamp_seconds',
    labels: { task: JOBS },
  }),
  webhookAttempts: new Counter({
    name: 'countersign_webhook_deliveries_total',
    labels: { result: ['delivered', 'failed'] },
  }),
  webhookDuration: new Histogram({
    name: 'countersign_webhook_delivery_duration_seconds',
    labels: {},
    bounds: REQUEST_BOUNDS,
  }),
  webhooks: new Gauge({
    name: 'countersign_webhooks',
    labels: { state: ['active', 'failing', 'paused', 'given_up'] },
  }),
  keychain: new Gauge({
    name: 'countersign_keychain_info',
    labels: { backend: ['os', 'file'] },
  }),
  keychainCalls: new Counter({
    name: 'countersign_keychain_operations_total',
    labels: { operation: ['get', 'set', 'delete'], result: ['succeeded', 'failed'] },
  }),
  cpu: new Gauge({
    name: 'process_cpu_seconds_total',
    labels: {},
    type: 'counter',
  }),
  startTime: new Gauge({
    name: 'process_start_time_seconds',
    labels: {},
  }),
  residentMemory: new Gauge({
    name: 'process_resident_memory_bytes',
    labels: {},
  }),
  openFiles: new Gauge({
    name: 'process_open_fds',
    labels: {},
  }),
  mostFiles: new Gauge({
    name: 'process_max_fds',
    labels: {},
  }),
  heapUsed: new Gauge({
    name: 'nodejs_heap_size_used_bytes',
    labels: {},
  }),
  delayMedian: new Gauge({
    name: 'nodejs_eventloop_lag_p50_seconds',
    labels: {},
  }),
  delayHigh: new Gauge({
    name: 'nodejs_eventloop_lag_p99_seconds',
    labels: {},
  }),
  delayMost: new Gauge({
    name: 'nodejs_eventloop_lag_max_seconds',
    labels: {},
  }),
} as const
