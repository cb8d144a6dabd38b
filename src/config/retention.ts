/** The settings for how long the account server keeps rows that no request needs any more. */
import { type Env, read, wrong } from './values.ts'

/** How many days rows are kept; null for as long as the account exists. */
export interface Retention {
  /** Checks of words in the verification log, by the time of the check. */
  readonly verifications: number | null
  /** Activities of organisations, by the time at which the server received them. */
  readonly activities: number | null
  /** Invitations that have ended, from their expiry on. */
  readonly invitations: number | null
  /** Guest codes that were revoked or have expired, since then. */
  readonly guestCodes: number | null
  /** Verifications and changes of notes in the history of trust cards. */
  readonly trustEvents: number | null
  /** Sessions and tokens that have ended, since then. */
  readonly sessions: number | null
}

const DAY_MS = 24 * 3_600_000
/** About a hundred years. */
const MOST_DAYS = 36_500
const FOREVER = 'forever'

interface RetentionSetting {
  readonly name: string
  /** The rows, for the documents. */
  readonly what: string
  readonly byDefault: number | null
  readonly least: number
  /** Why a lower value is not allowed. */
  readonly because: string
}

const A_DAY = 'Requests may still need rows that ended less than a day ago.'

const SETTINGS: Readonly<Record<keyof Retention, RetentionSetting>> = {
  verifications: {
    name: 'SVC_RETENTION_VERIFICATIONS_DAYS',
    what: 'verifications',
    byDefault: null,
    least: 31,
    because: 'The trust metrics count the verifications of 30 days.',
  },
  activities: {
    name: 'SVC_RETENTION_ACTIVITIES_DAYS',
    what: 'activities of organisations',
    byDefault: null,
    least: 62,
    because: 'The alerts of organisations compare the activities of 61 days.',
  },
  invitations: {
    name: 'SVC_RETENTION_INVITATIONS_DAYS',
    what: 'invitations that have ended',
    byDefault: 365,
    least: 1,
    because: A_DAY,
  },
  guestCodes: {
    name: 'SVC_RETENTION_GUEST_CODES_DAYS',
    what: 'guest codes that were revoked or have expired',
    byDefault: 365,
    least: 1,
    because: A_DAY,
  },
  trustEvents: {
    name: 'SVC_RETENTION_TRUST_EVENTS_DAYS',
    what: 'the history of trust cards',
    byDefault: null,
    least: 1,
    because: A_DAY,
  },
  sessions: {
    name: 'SVC_RETENTION_SESSIONS_DAYS',
    what: 'sessions and tokens that have ended',
    byDefault: 90,
    least: 1,
    because: A_DAY,
  },
}

const KINDS = Object.keys(SETTINGS) as (keyof Retention)[]

/** The settings, for the list of all settings. */
export const RETENTION_SETTINGS: readonly RetentionSetting[] = KINDS.map((kind) => SETTINGS[kind])

const made = (valueOf: (setting: RetentionSetting) => number | null): Retention =>
  Object.freeze(
    Object.fromEntries(KINDS.map((kind) => [kind, valueOf(SETTINGS[kind])])) as Record<
      keyof Retention,
      number | null
    >,
  )

/** The settings of an environment without variables. */
export const RETENTION_DEFAULTS: Retention = made(({ byDefault }) => byDefault)

/**
 * Returns the time before which rows are not kept, Unix milliseconds.
 * @param days the retention; null if all rows are kept. The result is then 0.
 */
export const keptSince = (days: number | null, now: number): number =>
  days === null ? 0 : Math.max(0, now - days * DAY_MS)

function daysIn(env: Env, { name, byDefault, least, because }: RetentionSetting): number | null {
  const value = read(env, name)
  if (value === null) return byDefault
  if (value === FOREVER) return null
  const days = /^[1-9]\d{0,4}$/.test(value) ? Number(value) : NaN
  if (days >= least && days <= MOST_DAYS) return days
  const isLess = /^\d+$/.test(value) && Number(value) < least
  throw wrong(
    name,
    value,
    `it must be a number of days from ${least} to ${MOST_DAYS}, or the word ${FOREVER}.` +
      (isLess
        ? ` ${because} Write ${least} to keep as little as possible, or ${FOREVER} to delete nothing.`
        : ''),
  )
}

/** @throws StartError for zero, and for any other value that is neither days nor `forever` */
export const retention = (env: Env): Retention => made((setting) => daysIn(env, setting))
