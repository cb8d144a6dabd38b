/**
 * The account server without its HTTP: the answers of every row that an account answers, over one database. The daemon has one
 * in its own process; the same code serves many daemons from PostgreSQL, in as many replicas as one likes.
 */
import { entrance, signedIn } from '../api/device/index.ts'
import type { Account, Door, Open, Service, Session } from '../api/port.ts'
import { lazily } from '../api/lazy.ts'
import { rest } from '../api/rest/index.ts'
import { site } from '../api/site/index.ts'
import { bind } from './binding.ts'
import { openEngine, queriesOver } from './database.ts'
import { newEnrolmentCode } from './enrolment-codes.ts'
import type { Ground } from './ground.ts'
import { newReach } from './reach.ts'
import { lazyReceiptKey } from './receipt-key.ts'
import { authenticate } from './sessions.ts'

export interface AccountServer {
  /** For the dispatcher of the signed-in rows. */
  readonly answers: Service
  /** For the dispatcher of the rows that anybody may call. */
  readonly open: Open
  /** Who an access token stands for; null for anything that is not a live one. */
  authenticate(accessToken: string): Promise<Session | null>
  /**
   * A one-time enrolment code, for whoever the operator gives it to.
   * @param account the only account that may use it; without one, the first that does
   */
  readonly newEnrolmentCode: (account?: string) => Promise<string>
  /** The account of a session, in this process. */
  as(session: Session): Account
  /** What a device may ask before it has a session, in this process. */
  readonly door: Door
  close(): Promise<void>
}

const inside = { ...rest, ...signedIn }

/**
 * Open the account server.
 * @param of `url` and `file`: see `openEngine`; `publicUrl` is asked at each use, since the port may be known late;
 *   `now` gives Unix milliseconds
 * @throws StartError as `openEngine` does
 */
export async function openService(of: {
  url: string | null
  file: string
  publicUrl: () => string
  version: string
  now: () => number
}): Promise<AccountServer> {
  const engine = await openEngine(of)
  const { publicUrl, version, now } = of
  const started = now()
  let made: Promise<Ground> | null = null
  /** Made when the first group of answers is: the query builder takes as long to load as everything before it. */
  const ground = () => (made ??= makeGround())
  async function makeGround(): Promise<Ground> {
    const db = await queriesOver(engine)
    return { db, receiptKey: lazyReceiptKey(db), publicUrl, version, started, now }
  }
  const loaded = lazily<Service>(inside, ['account', 'both'], {
    connections: async () => (await import('./connections.ts')).connections(await ground()),
    context: async () => (await import('./context.ts')).context(await ground()),
    deviceGuestCodes: async () =>
      (await import('./guest-codes.ts')).deviceGuestCodes(await ground()),
    envelopes: async () => (await import('./envelopes.ts')).envelopes(await ground()),
    guestCodes: async () => (await import('./guest-codes.ts')).guestCodes(await ground()),
    keyLogs: async () => (await import('./key-logs.ts')).keyLogs(await ground()),
    profiles: async () => (await import('./profiles.ts')).profiles(await ground()),
    rosters: async () => (await import('./rosters.ts')).rosters(await ground()),
    stamps: async () => (await import('./stamps.ts')).stamps(await ground()),
    verificationLog: async () =>
      (await import('./verifications.ts')).verificationLog(await ground()),
    verifications: async () => (await import('./verifications.ts')).verifications(await ground()),
  })
  const loadedOpen = lazily<Open>({ ...entrance, ...site }, ['account'], {
    assets: async () => (await import('./site.ts')).assets(),
    clock: async () => (await import('./clock.ts')).clock(await ground()),
    enrolment: async () => (await import('./enrolment.ts')).enrolment(await ground()),
    guestPages: async () => (await import('./site.ts')).guestPages(await ground()),
    session: async () => (await import('./sessions.ts')).session(await ground()),
    siteHealth: async () => (await import('./site.ts')).siteHealth(await ground()),
    stampPages: async () => (await import('./site.ts')).stampPages(await ground()),
  })
  const { reaching, reachingAll } = newReach(engine.isAway)
  const answers = reachingAll(loaded)
  const open = reachingAll(loadedOpen)
  return {
    answers,
    open,
    authenticate: (accessToken) => reaching(async () => authenticate(await ground(), accessToken)),
    newEnrolmentCode: (account) =>
      reaching(async () => newEnrolmentCode(await ground(), account ?? null)),
    // The mapped types have counted the answers; what is bound to them has the same rows.
    as: (who) => bind(inside, answers, who) as Account,
    door: bind(entrance, open, null) as Door,
    close: () => engine.close(),
  }
}
