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
    help: 'The version of the program, and of Node. The value is 1.',
    labels: { version: 'program', node: 'program' },
  }),
  dependencies: new Gauge({
    name: 'countersign_dependency_up',
    help: 'Whether a dependency of GET /health/ready is usable: 1, or 0.',
    labels: { service: SERVICES },
  }),
  requests: new Counter({
    name: 'countersign_http_requests_total',
    help: 'Requests by route and status. The route "none" stands for all paths without a route.',
    labels: { listener: LISTENERS, method: METHODS, route: 'program', status: 'program' },
  }),
  requestDuration: new Histogram({
    name: 'countersign_http_request_duration_seconds',
    help: 'Time from the headers of a request to its answer; for a stream, to its beginning.',
    labels: { listener: LISTENERS, method: METHODS, route: 'program' },
    bounds: REQUEST_BOUNDS,
  }),
  requestErrors: new Counter({
    name: 'countersign_http_errors_total',
    help: 'Requests that were answered with an error, by its code.',
    labels: { listener: LISTENERS, code: CODES },
  }),
  guardRefusals: new Counter({
    name: 'countersign_guard_refusals_total',
    help: 'Requests that the guard rejected before their route was looked up, by code of the error.',
    labels: { listener: LISTENERS, code: CODES },
  }),
  connections: new Gauge({
    name: 'countersign_http_connections',
    help: 'Open TCP connections.',
    labels: { listener: LISTENERS },
  }),
  streams: new Gauge({
    name: 'countersign_http_open_streams',
    help: 'Answers that last until one side closes them, by route.',
    labels: { listener: LISTENERS, route: 'program' },
  }),
  queryDuration: new Histogram({
    name: 'countersign_database_query_duration_seconds',
    help: 'Time of the statements of the account database, with the waits for locks.',
    labels: { engine: ['sqlite', 'postgresql'] },
    bounds: QUERY_BOUNDS,
  }),
  queryFailures: new Counter({
    name: 'countersign_database_query_failures_total',
    help: 'Statements of the account database that failed.',
    labels: { engine: ['sqlite', 'postgresql'] },
  }),
  commitDuration: new Histogram({
    name: 'countersign_state_commit_duration_seconds',
    help: 'Time of commits to the databases of the state folder, until they are on the disk.',
    labels: {},
    bounds: QUERY_BOUNDS,
  }),
  pool: new Gauge({
    name: 'countersign_database_pool_connections',
    help: 'Connections of the pool to PostgreSQL.',
    labels: { state: ['idle', 'in_use'] },
  }),
  poolSize: new Gauge({
    name: 'countersign_database_pool_size',
    help: 'The maximum number of connections of the pool to PostgreSQL.',
    labels: {},
  }),
  poolWaiting: new Gauge({
    name: 'countersign_database_pool_waiting',
    help: 'Requests that wait for a connection of the pool to PostgreSQL.',
    labels: {},
  }),
  syncs: new Counter({
    name: 'countersign_syncs_total',
    help: 'Syncs with the account server, by what caused them.',
    labels: {
      trigger: ['start', 'timer', 'hint', 'request'],
      result: ['succeeded', 'failed'],
    },
  }),
  syncDuration: new Histogram({
    name: 'countersign_sync_duration_seconds',
    help: 'Time of syncs with the account server.',
    labels: {},
    bounds: WORK_BOUNDS,
  }),
  lastSync: new Gauge({
    name: 'countersign_sync_last_success_timestamp_seconds',
    help: 'When the last successful sync ended, Unix time. Absent before the first one.',
    labels: {},
  }),
  hintStream: new Gauge({
    name: 'countersign_hint_stream_open',
    help: 'Whether changes arrive from the account server by a stream: 1, or 0.',
    labels: {},
  }),
  waiting: new Gauge({
    name: 'countersign_sync_waiting',
    help: 'What the next sync hands over to the account server.',
    labels: { kind: ['verifications', 'stamps', 'rotations'] },
  }),
  verifications: new Counter({
    name: 'countersign_verifications_total',
    help: 'Checks of words in the verification log of this device, by outcome.',
    labels: {
      method: ['local', 'public'],
      outcome: ['verified', 'not_verified', 'inconclusive', 'echo'],
    },
  }),
  mails: new Counter({
    name: 'countersign_mails_total',
    help: 'Mails: accepted by the relay or written to a file, refused by the relay, or failed.',
    labels: { result: ['sent', 'refused', 'failed'] },
  }),
  mailsWaiting: new Gauge({
    name: 'countersign_mails_waiting',
    help: 'Mails that are being sent, or wait for those before them.',
    labels: {},
  }),
  jobs: new Counter({
    name: 'countersign_job_runs_total',
    help: 'Runs of scheduled jobs of the account server in this process.',
    labels: { task: JOBS, result: ['succeeded', 'failed'] },
  }),
  jobDuration: new Histogram({
    name: 'countersign_job_duration_seconds',
    help: 'Time of runs of scheduled jobs.',
    labels: { task: JOBS },
    bounds: WORK_BOUNDS,
  }),
  lastJob: new Gauge({
    name: 'countersign_job_last_success_timestamp_seconds',
    help: 'When the last successful run of a job in this process ended, Unix time.',
    labels: { task: JOBS },
  }),
  webhookAttempts: new Counter({
    name: 'countersign_webhook_deliveries_total',
    help: 'Attempts to deliver an event to a webhook.',
    labels: { result: ['delivered', 'failed'] },
  }),
  webhookDuration: new Histogram({
    name: 'countersign_webhook_delivery_duration_seconds',
    help: 'Time of attempts to deliver an event to a webhook.',
    labels: {},
    bounds: REQUEST_BOUNDS,
  }),
  webhooks: new Gauge({
    name: 'countersign_webhooks',
    help: 'Webhooks by state. Failing ones are active, and their last attempt failed.',
    labels: { state: ['active', 'failing', 'paused', 'given_up'] },
  }),
  keychain: new Gauge({
    name: 'countersign_keychain_info',
    help: 'Where the secrets are: os is the keychain of the system, file is the sealed file.',
    labels: { backend: ['os', 'file'] },
  }),
  keychainCalls: new Counter({
    name: 'countersign_keychain_operations_total',
    help: 'Operations of the keychain.',
    labels: { operation: ['get', 'set', 'delete'], result: ['succeeded', 'failed'] },
  }),
  cpu: new Gauge({
    name: 'process_cpu_seconds_total',
    help: 'Processor time that the process used, in user and in system mode.',
    labels: {},
    type: 'counter',
  }),
  startTime: new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the process started, Unix time.',
    labels: {},
  }),
  residentMemory: new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    labels: {},
  }),
  openFiles: new Gauge({
    name: 'process_open_fds',
    help: 'Open file descriptors.',
    labels: {},
  }),
  mostFiles: new Gauge({
    name: 'process_max_fds',
    help: 'The maximum number of open file descriptors.',
    labels: {},
  }),
  heapUsed: new Gauge({
    name: 'nodejs_heap_size_used_bytes',
    help: 'Memory of objects of the program.',
    labels: {},
  }),
  delayMedian: new Gauge({
    name: 'nodejs_eventloop_lag_p50_seconds',
    help: 'Median of the delays of the event loop since the previous scrape.',
    labels: {},
  }),
  delayHigh: new Gauge({
    name: 'nodejs_eventloop_lag_p99_seconds',
    help: '99th percentile of the delays of the event loop since the previous scrape.',
    labels: {},
  }),
  delayMost: new Gauge({
    name: 'nodejs_eventloop_lag_max_seconds',
    help: 'Longest delay of the event loop since the previous scrape.',
    labels: {},
  }),
} as const
