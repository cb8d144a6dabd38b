/**
 * The account server without HTTP: the answers of all its routes, over one database. A daemon can
 * embed it in its own process. With PostgreSQL, the same code serves many daemons, in any number of
 * replicas.
 */
import { entrance, signedIn } from '../api/device/index.ts'
import { timeAt } from '../api/fields.ts'
import type {
  Account,
  UnauthenticatedClient,
  Open,
  Service,
  CallerSession,
  Visitor,
} from '../api/port.ts'
import { lazily } from '../api/rows.ts'
import { rest } from '../api/rest/index.ts'
import { site } from '../api/site/index.ts'
import type { AssistantConfig } from '../config/assistant.ts'
import type { MailedCodes } from '../config/config.ts'
import type { DatabaseConfig } from '../config/database.ts'
import { type Retention, RETENTION_DEFAULTS } from '../config/retention.ts'
import type { Log } from '../log.ts'
import type { Once } from '../storage/idempotency.ts'
import { newBackground } from './db/background.ts'
import { bind } from './calls.ts'
import { openEngine, queriesOver } from './db/database.ts'
import { ACCOUNT_INDEXES } from './db/migrations.ts'
import type { Exporter } from './exports/building.ts'
import type { ServiceContext } from './context.ts'
import type { Hints } from './hints/hints.ts'
import { newEvents } from './events.ts'
import { LOG_PAGES, type PageLimits } from './db/log-pages.ts'
import { type MailPlace, openMail } from './mail/mail.ts'
import type { Proof } from '../api/proof-check.ts'
import { newReach } from './db/faults.ts'
import { lazyReceiptKey } from './db/server-secrets.ts'
import { newSeenOnce } from './db/seen-once.ts'
import { newLastSeen } from './db/last-seen.ts'
import type { WordBuilder, WordSizes } from './guests/word-builder.ts'

/** What the caller of a request may do. */
interface SessionLevel {
  /**
   * `session`: an approved device. `device`: a pending device. The others are scopes of a machine
   * account's token.
   */
  readonly scope: 'session' | 'device' | 'read' | 'write' | 'full'
}

export interface AccountServer {
  /** The answers of the routes for signed-in callers, for the dispatcher. */
  readonly answers: Service
  /** The answers of the public routes, for the dispatcher. */
  readonly open: Open
  /**
   * Returns the caller of a request with a token. The token is either a device's access token with
   * its proof (RFC 9449), or a machine account's token.
   * @throws AppError `invalid_token` with a challenge
   */
  readonly authenticate: (of: {
    token: string
    proof: Proof | null
  }) => Promise<CallerSession & SessionLevel>
  /**
   * Returns the anonymous caller of a request that carries a proof but no token. The proof is
   * recorded as used after it has given access.
   * @throws AppError `invalid_token` for an invalid proof
   */
  readonly visitor: (proof: Proof) => Promise<Visitor>
  /** Counts a write against the limit; see `WriteAllowance`. Throws AppError `rate_limited`. */
  readonly takeWrite: (subject: string, most: number) => Promise<void>
  /** Returns the nonce that proofs should carry now (RFC 9449 section 8). */
  readonly nonce: () => Promise<string>
  /**
   * Runs an operation under an Idempotency-Key. The operation's changes and its answer are stored
   * together or not at all.
   */
  readonly once: Once
  /**
   * Returns a one-time enrolment code, for the operator to give to a user.
   * @param account the only account that may use the code. If undefined, the first account that
   *   uses it.
   */
  readonly newEnrolmentCode: (account?: string) => Promise<string>
  /** Returns the calls of a session's account, made in this process. */
  as(session: CallerSession): Account
  /** Returns the calls of a device without a session, made in this process. */
  door(visitor: Visitor): UnauthenticatedClient
  /**
   * From now on, reports that the server is not ready, and has no streams of hints. All other
   * requests are still answered.
   */
  drain(): void
  close(): Promise<void>
}

const inside = { ...rest, ...signedIn }

/**
 * Returns a function that creates a value at its first call and caches it. After a failure, the
 * next call tries again.
 */
function onceMade<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = null
      throw error
    }))
}

/**
 * Opens the account server.
 * @param of `url`, `file` and `database`: see `openEngine`; `publicUrl` is called at each use,
 *   because the port may be assigned later; `now` returns Unix milliseconds; `mail`: where mail is
 *   delivered; `ownsMail`: whether only this server writes to the mail folder; `from`: the sender,
 *   an address or `Name <address>`; `mailedCodes`: by default 1,000 for the server; `retention`:
 *   by default as without settings; `assistant`: the endpoint for questions, or null if the
 *   built-in handbook answers them; `logPages`, `wordSizes` and `sweepsAfterMs`: smaller limits and
 *   another time of the first sweeps, for tests
 * @throws StartError as `openEngine` does
 */
export async function openService(of: {
  url: string | null
  file: string
  database?: DatabaseConfig
  publicUrl: () => string
  version: string
  now: () => number
  mail: MailPlace
  ownsMail?: boolean
  from: string
  mailedCodes?: MailedCodes
  retention?: Retention
  assistant?: AssistantConfig | null
  logPages?: PageLimits
  wordSizes?: WordSizes
  sweepsAfterMs?: number
  log: Log
}): Promise<AccountServer> {
  const engine = await openEngine(of)
  const { publicUrl, version, now, log, assistant = null, logPages = LOG_PAGES } = of
  const started = now()
  let draining = false
  const isDraining = () => draining
  const background = newBackground(log)
  const mail = openMail({ place: of.mail, from: of.from, now })
  const operator = /<([^<>]+)>$/.exec(of.from)?.[1] ?? of.from
  /**
   * Created when the first group of answers is used. Loading the query builder takes as long as the
   * rest of the start.
   */
  const ground = onceMade(makeGround)
  async function makeGround(): Promise<ServiceContext> {
    const db = await queriesOver(engine)
    const receiptKey = lazyReceiptKey(db)
    const seenOnce = newSeenOnce({ db, background, now })
    const lastSeen = newLastSeen({ db, background, now, signal: closing.signal })
    const { writesInWith } = engine
    const { mailedCodes = { ofServer: 1000, ofDomain: null }, retention = RETENTION_DEFAULTS } = of
    const limits = { mailedCodes, retention }
    const settings = { publicUrl, version, started, now, writesInWith, isDraining, ...limits }
    if (engine.channel !== null) {
      const { announceThrough } = await import('./hints/announcements.ts')
      announceThrough(db, engine.channel)
    }
    background.run(() => resumeExports(db))
    background.run(() => resumeWords(db))
    const scrub: ServiceContext['scrub'] = async ({ mailboxes, isLast }) => {
      await engine.scrub(db)
      const { forgetLetters } = await import('./mail/mail.ts')
      await forgetLetters(of.mail, isLast && of.ownsMail === true ? null : mailboxes)
    }
    const events = newEvents(
      { db, background, mail },
      onceMade(async () => (await import('./subscribers.ts')).subscribers(whole)),
    )
    const made = { db, receiptKey, mail, events, operator, assistant, background, scrub }
    const { signal } = closing
    const whole: ServiceContext = { ...made, seenOnce, lastSeen, logPages, signal, ...settings }
    background.run(() => beginSweeps(whole))
    return whole
  }
  const closing = new AbortController()
  const words = of.wordSizes === undefined ? {} : { sizes: of.wordSizes }
  const exporter = onceMade(async (): Promise<Exporter> => {
    const { newExporter } = await import('./exports/building.ts')
    const { isAway } = engine
    const accountOf = (id: string): Account =>
      bind(inside, answers, { account: id, device: null, session: null, token: null }) as Account
    return newExporter({ ground: await ground(), accountOf, isAway, log, signal: closing.signal })
  })
  /**
   * Continues the exports that a previous run of this server, or another replica, left unfinished.
   */
  async function resumeExports(db: ServiceContext['db']): Promise<void> {
    const left = await db
      .selectFrom('exports')
      .select('id')
      .where('state', 'in', ['queued', 'building', 'ready'])
      .limit(1)
      .executeTakeFirst()
    if (left !== undefined) (await exporter()).wake()
  }
  /** Set when the first stream of hints is opened. */
  let hints: Hints | undefined
  const hinting = onceMade(async () => {
    const { newHints } = await import('./hints/hints.ts')
    const { channel } = engine
    hints = newHints(await ground(), { channel, log, signal: closing.signal })
    return hints
  })
  /** The words of public codes are needed from the start if there are many codes. */
  const wordBuilder = onceMade(async (): Promise<WordBuilder> => {
    const { newWordBuilder } = await import('./guests/word-builder.ts')
    return newWordBuilder({ ...(await ground()), ...words })
  })
  async function resumeWords(db: ServiceContext['db']): Promise<void> {
    const { FEW_CODES, haveChanged } = await import('./accounts/public-code-rows.ts')
    if (await haveChanged(db, 0, FEW_CODES)) (await wordBuilder()).wake()
  }
  /**
   * Begins to delete old rows and to announce ending guest codes, as soon as there are the indexes
   * with which the rows are found.
   */
  async function beginSweeps(context: ServiceContext): Promise<void> {
    const { startRetention } = await import('./retention.ts')
    const { startGuestCodeEnds } = await import('./guests/guest-code-ends.ts')
    const onBuilt = () => {
      startRetention(context, of.sweepsAfterMs)
      startGuestCodeEnds(context, of.sweepsAfterMs)
    }
    if (!engine.buildsIndexes) return onBuilt()
    const { newIndexBuilds } = await import('./db/index-builds.ts')
    newIndexBuilds({ ...context, engine, log, indexes: ACCOUNT_INDEXES, onBuilt }).wake()
  }
  const proofs = onceMade(async () =>
    (await import('./devices/proofs.ts')).newProofs(await ground()),
  )
  const writes = onceMade(async () =>
    (await import('./connections/write-allowance.ts')).newWriteAllowance(await ground()),
  )
  const once = onceMade(async () => {
    const { onceOver } = await import('./db/idempotency.ts')
    return onceOver({ engine, ...(await ground()) })
  })
  /** Returns a loader of a group of answers, which a module exports under the group's name. */
  const from =
    <Name extends string, Module extends Record<Name, (context: ServiceContext) => object>>(
      load: () => Promise<Module>,
      name: Name,
    ) =>
    async () =>
      (await load())[name](await ground()) as ReturnType<Module[Name]>
  const loaded = lazily<Service>(inside, ['account', 'both'], {
    account: from(() => import('./deletion/account-deletion.ts'), 'account'),
    approval: from(() => import('./devices/devices.ts'), 'approval'),
    bearer: from(() => import('./devices/machine-tokens.ts'), 'bearer'),
    changes: from(() => import('./hints/changes.ts'), 'changes'),
    chat: from(() => import('./assistant/chat.ts'), 'chat'),
    connections: from(() => import('./connections/connections.ts'), 'connections'),
    context: from(() => import('./accounts/account-record.ts'), 'context'),
    currentSession: from(() => import('./devices/sessions.ts'), 'currentSession'),
    deletion: from(() => import('./deletion/account-deletion.ts'), 'deletion'),
    deviceGuestCodes: from(() => import('./guests/guest-codes.ts'), 'deviceGuestCodes'),
    deviceFirstContacts: from(
      () => import('./connections/first-contacts.ts'),
      'deviceFirstContacts',
    ),
    devices: from(() => import('./devices/devices.ts'), 'devices'),
    downloads: from(() => import('./exports/exports.ts'), 'downloads'),
    consents: from(() => import('./connections/consents.ts'), 'consents'),
    duties: from(() => import('./connections/pending-work.ts'), 'duties'),
    emails: from(() => import('./accounts/emails.ts'), 'emails'),
    envelopes: from(() => import('./connections/envelopes.ts'), 'envelopes'),
    exports: async () =>
      (await import('./exports/exports.ts')).exports(await ground(), await exporter()),
    externalMembers: from(() => import('./connections/external-members.ts'), 'externalMembers'),
    feedback: from(() => import('./assistant/chat.ts'), 'feedback'),
    followedKeyLogs: from(() => import('./trust/followed-key-logs.ts'), 'followedKeyLogs'),
    guestCodes: from(() => import('./guests/guest-codes.ts'), 'guestCodes'),
    hints: async () => (await hinting()).answers,
    invitations: from(() => import('./connections/invitations.ts'), 'invitations'),
    keyLogs: from(() => import('./devices/key-logs.ts'), 'keyLogs'),
    listedDevices: from(() => import('./devices/listed-devices.ts'), 'listedDevices'),
    lookups: async () => {
      const { lookups } = await import('./guests/public-code.ts')
      return lookups(await ground(), { builder: await wordBuilder(), ...words })
    },
    machines: from(() => import('./organisations/machines.ts'), 'machines'),
    machineTokens: from(() => import('./devices/machine-tokens.ts'), 'machineTokens'),
    members: from(() => import('./connections/members.ts'), 'members'),
    notifications: async () => {
      const { noteExpired } = await import('./connections/invitation-ends.ts')
      const { notifications } = await import('./mail/notices.ts')
      const made = await ground()
      return notifications(made, (account) => noteExpired(made, account))
    },
    openLinkApprovals: from(() => import('./links/open-link-requests.ts'), 'openLinkApprovals'),
    openLinkRequests: from(() => import('./links/open-link-requests.ts'), 'openLinkRequests'),
    openLinks: from(() => import('./links/open-links.ts'), 'openLinks'),
    orgActivity: from(() => import('./organisations/analytics.ts'), 'orgActivity'),
    orgAlerts: from(() => import('./organisations/alerts.ts'), 'orgAlerts'),
    orgAnalytics: from(() => import('./organisations/analytics.ts'), 'orgAnalytics'),
    orgGroups: from(() => import('./organisations/groups.ts'), 'orgGroups'),
    orgMembers: from(() => import('./organisations/members.ts'), 'orgMembers'),
    organisations: from(() => import('./organisations/organisations.ts'), 'organisations'),
    pendingDevices: from(() => import('./devices/devices.ts'), 'pendingDevices'),
    preferences: from(() => import('./accounts/preferences.ts'), 'preferences'),
    presets: from(() => import('./connections/presets.ts'), 'presets'),
    profile: from(() => import('./accounts/profile.ts'), 'profile'),
    signedProfiles: from(() => import('./devices/profiles.ts'), 'signedProfiles'),
    profiles: from(() => import('./devices/profiles.ts'), 'profiles'),
    publicCode: from(() => import('./guests/public-code.ts'), 'publicCode'),
    rosters: from(() => import('./connections/rosters.ts'), 'rosters'),
    sessions: from(() => import('./devices/session-list.ts'), 'sessions'),
    stamps: from(() => import('./stamps/stamps.ts'), 'stamps'),
    servedStamps: from(() => import('./stamps/served-stamp.ts'), 'servedStamps'),
    tags: from(() => import('./connections/tags.ts'), 'tags'),
    trust: from(() => import('./trust/cards.ts'), 'trust'),
    trustCards: from(() => import('./trust/cards.ts'), 'trustCards'),
    verificationLog: from(() => import('./trust/verifications.ts'), 'verificationLog'),
    verifications: from(() => import('./trust/verifications.ts'), 'verifications'),
    webhookNotices: from(() => import('./devices/webhook-notices.ts'), 'webhookNotices'),
  })
  const loadedOpen = lazily<Open>({ ...entrance, ...site }, ['account'], {
    home: from(() => import('./pages/site.ts'), 'home'),
    addressProofs: from(() => import('./pages/address-proofs.ts'), 'addressProofs'),
    assets: async () => (await import('./pages/site.ts')).assets(),
    clock: async () => ({
      read: async () => ({
        now: timeAt(now()),
        public_url: publicUrl(),
        hints_by: hints?.source() ?? null,
      }),
    }),
    confirmationPages: from(() => import('./pages/confirmations.ts'), 'confirmationPages'),
    enrolment: from(() => import('./devices/enrolment.ts'), 'enrolment'),
    exportFiles: from(() => import('./exports/download-links.ts'), 'exportFiles'),
    guestPages: from(() => import('./pages/site.ts'), 'guestPages'),
    oauth: from(() => import('./devices/oauth.ts'), 'oauth'),
    openLinkPages: from(() => import('./pages/open-link-page.ts'), 'openLinkPages'),
    session: async () =>
      (await import('./devices/sessions.ts')).session(await ground(), await proofs()),
    signIns: from(() => import('./devices/sign-ins.ts'), 'signIns'),
    siteHealth: from(() => import('./pages/health.ts'), 'siteHealth'),
    stampPages: from(() => import('./pages/site.ts'), 'stampPages'),
  })
  async function authenticated({ token, proof }: { token: string; proof: Proof | null }) {
    if (token.startsWith('csm_'))
      return (await import('./devices/machine-tokens.ts')).authenticateMachine(
        await ground(),
        token,
      )
    const { authenticate } = await import('./devices/sessions.ts')
    return authenticate(await ground(), await proofs(), { token, proof })
  }
  const { reaching, reachingAll } = newReach(engine.isAway)
  const answers = reachingAll(loaded)
  const open = reachingAll(loadedOpen)
  return {
    answers,
    open,
    authenticate: (given) => reaching(() => authenticated(given)),
    visitor: (proof) =>
      reaching(async () => {
        const { provenBy } = await import('./devices/sessions.ts')
        return provenBy(await proofs(), proof)
      }),
    takeWrite: (subject, most) => reaching(async () => (await writes()).take(subject, most)),
    nonce: () => reaching(async () => (await proofs()).nonce()),
    once: (keyed, work) => reaching(async () => (await once())(keyed, work)),
    newEnrolmentCode: (account) =>
      reaching(async () =>
        (await import('./devices/enrolment-codes.ts')).newEnrolmentCode(
          await ground(),
          account ?? null,
        ),
      ),
    // TypeScript cannot check that the bound calls have the groups and names of these types.
    as: (who) => bind(inside, answers, who) as Account,
    door: (visitor) => bind(entrance, open, visitor) as UnauthenticatedClient,
    drain: () => {
      draining = true
      hints?.close()
    },
    close: async () => {
      closing.abort()
      hints?.close()
      await background.idle()
      await engine.close()
    },
  }
}
