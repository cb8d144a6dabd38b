/** The names of all settings, which each start compares with those that are set. */
import { RETENTION_SETTINGS } from './retention.ts'

/** The name under which lists have the settings with the addresses of named account servers. */
export const NAMED_SERVER = 'SVC_ENV_<NAME>_URL'

const BEFORE = [
  'SVC_HTTP_BIND',
  'SVC_HTTP_PORT',
  'SVC_HTTP_SOCKET',
  'SVC_HTTP_SOCKET_GROUP',
  'SVC_STATE_DIR',
  'SVC_ENV',
  NAMED_SERVER,
  'SVC_BACKEND_URL',
  'SVC_CA_FILE',
  'SVC_ACCOUNT_BIND',
  'SVC_ACCOUNT_PORT',
  'SVC_PUBLIC_URL',
  'SVC_DATABASE_URL',
  'SVC_DATABASE_URL_FILE',
  'SVC_DATABASE_POOL_SIZE',
  'SVC_DATABASE_LOCK_TIMEOUT_MS',
  'SVC_DATABASE_STATEMENT_TIMEOUT_MS',
  'SVC_DRAIN_MS',
  'SVC_DATABASE_PREPARE',
  'SVC_MAIL_DIR',
  'SVC_SMTP_URL',
  'SVC_MAIL_FROM',
  'SVC_MAILED_CODES',
  'SVC_MAILED_CODES_PER_DOMAIN',
] as const
const AFTER = [
  'SVC_ASSISTANT_URL',
  'SVC_ASSISTANT_KEY_FILE',
  'SVC_ASSISTANT_MODEL',
  'SVC_METRICS_TOKEN_FILE',
  'SVC_METRICS_PORT',
  'SVC_KEYCHAIN',
  'SVC_DESKTOP_NOTIFY',
  'SVC_TOKEN_USERS',
  'SVC_CONSOLE',
  'SVC_LOG_LEVEL',
  'SVC_TOKEN',
  'SVC_TOKEN_FILE',
] as const

/** A setting with its text in `settings.ts`. Those of retention have theirs in `retention.ts`. */
export type OwnSetting = (typeof BEFORE)[number] | (typeof AFTER)[number]

/** All names, in the order of the documents. */
export const SETTING_NAMES: readonly string[] = [
  ...BEFORE,
  ...RETENTION_SETTINGS.map(({ name }) => name),
  ...AFTER,
]

/** Settings that may contain a password, a token or a key, so that their values are never shown. */
export const SECRET_SETTINGS: readonly string[] = [
  'SVC_DATABASE_URL',
  'SVC_SMTP_URL',
  'SVC_ASSISTANT_URL',
  'SVC_TOKEN',
] satisfies readonly OwnSetting[]
