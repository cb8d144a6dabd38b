/** The webhooks of this daemon: how callers manage them. */
import { timeAt } from '../api/fields.ts'
import { invalid } from '../api/input.ts'
import { isOfOrganisation, noSuchType, typesMatching } from '../api/live/event-types.ts'
import type {
  CreatedWebhook,
  NewWebhook,
  Webhook,
  WebhookChanges,
  WebhookDelivery,
  WebhookTest,
} from '../api/live/webhooks.ts'
import { isGranted, lastingWebhookRefused, orgEventsRefused } from '../auth/scopes.ts'
import type { Caller } from '../auth/tokens.ts'
import { newId } from '../crypto/encoding/id.ts'
import type { Vault } from '../device/identity/vault.ts'
import { AppError } from '../errors.ts'
import type { WebhookRow } from '../state/webhooks.ts'
import { type DeliveryContext, newDeliveries } from './deliveries.ts'
import { type WebhookNotifier, newReports } from './reports.ts'
import { type Settings, storeSettings } from './settings.ts'
import { newWebhookSecret } from './signature.ts'
import { faultOfUrl } from './target.ts'

/** How many webhooks a daemon has at most. */
const MOST = 32

/** The caller that manages webhooks. */
type By = Pick<Caller, 'token' | 'scope'>

export interface Webhooks {
  /** Begins to deliver events. Until then, webhooks are only stored. */
  start(): void
  /** Reports given-up webhooks to the account server. Never throws. */
  report(account: WebhookNotifier): Promise<void>
  /** Returns the webhooks that a caller may see, newest first. */
  list(by: By): Webhook[]
  /**
   * Creates a webhook.
   * @throws AppError validation_failed; insufficient_scope; conflict if there are too many
   */
  create(by: By, input: NewWebhook): CreatedWebhook
  /**
   * Changes a webhook.
   * @throws AppError not_found; validation_failed; insufficient_scope
   */
  update(by: By, id: string, changes: WebhookChanges): Webhook
  /** @throws AppError not_found */
  delete(by: By, id: string): void
  /**
   * Sends a test event now, and returns the outcome.
   * @throws AppError not_found; rate_limited while another test is running
   */
  test(by: By, id: string): Promise<WebhookTest>
  /**
   * Returns the last deliveries, newest first.
   * @throws AppError not_found
   */
  deliveries(by: By, id: string): WebhookDelivery[]
}

const notFound = () =>
  new AppError('not_found', 'There is no webhook with this id. GET /api/v1/webhooks lists them.')

const timeOrNull = (at: number | null) => (at === null ? null : timeAt(at))

const shownOf = (row: WebhookRow, settings: Settings): Webhook => ({
  id: row.id,
  name: row.name,
  url: settings.url,
  types: [...settings.types],
  private_network: settings.private_network,
  state: row.state,
  token_id: settings.token,
  created_at: timeAt(row.created_at),
  failing_since: timeOrNull(row.failing_since),
  next_attempt_at: timeOrNull(row.next_at),
})

/** @throws AppError validation_failed */
function requireValid({ url, types }: Pick<WebhookChanges, 'url' | 'types'>): void {
  const fault = url === undefined ? null : faultOfUrl(url)
  const issues = fault === null ? [] : [{ path: 'url', message: fault }]
  for (const [at, type] of (types ?? []).entries())
    if (typesMatching(type).length === 0)
      issues.push({ path: `types.${at}`, message: noSuchType(type) })
  if (issues.length > 0) throw invalid('body', issues)
}

/** Creates the webhooks of a daemon. */
export function newWebhooks(of: DeliveryContext): Webhooks {
  const { rows, events, vault, tokens, timers } = of
  const deliveries = newDeliveries(of)
  const testing = new Set<string>()

  /** @throws AppError not_signed_in */
  function requireVault(): Vault {
    const open = vault()
    if (open === null) throw new AppError('not_signed_in', 'This device signed out meanwhile.')
    return open
  }

  // Another token of scope `write` would learn the URL, or could change it and so get events after
  // its own end.
  const maySee = ({ token, scope }: By, settings: Settings) =>
    isGranted(scope, 'full') || settings.token === token

  /**
   * Returns a webhook that the caller may see.
   * @throws AppError not_found
   */
  function find(by: By, id: string): { row: WebhookRow; settings: Settings } {
    const settings = rows.get(id) === null ? null : deliveries.standing(id)
    const row = rows.get(id)
    if (row === null || settings === null || !maySee(by, settings)) throw notFound()
    return { row, settings }
  }

  /**
   * Requires that the caller and the token of the webhook may read events of these types.
   * @throws AppError insufficient_scope
   */
  function requireTypes({ scope }: By, { types, token }: Pick<Settings, 'types' | 'token'>): void {
    if (!types.some(isOfOrganisation)) return
    const creator = token === null ? 'owner' : (tokens.scopeOf(token) ?? 'read')
    for (const one of [scope, creator] as const)
      if (!isGranted(one, 'full')) throw orgEventsRefused(one)
  }

  return {
    start: () => deliveries.start(),

    report: newReports(of, deliveries),

    list: (by) =>
      rows.all().flatMap((row) => {
        const settings = deliveries.standing(row.id)
        return settings === null || !maySee(by, settings) ? [] : [shownOf(row, settings)]
      }),

    create(by, { url, types, name = null, private_network = false, ends_with_token: ends = true }) {
      requireValid({ url, types })
      // A token of scope `full` could also create another token, with which the webhook would end.
      if (!ends && !isGranted(by.scope, 'full')) throw lastingWebhookRefused(by.scope)
      const token = ends ? by.token : null
      const settings = { url, types, private_network, token, secret: newWebhookSecret() }
      requireTypes(by, settings)
      for (const { id } of rows.all()) deliveries.standing(id)
      if (rows.all().length >= MOST)
        throw new AppError(
          'conflict',
          `There are already ${MOST} webhooks. Delete one that is no longer needed.`,
        )
      const at = timers.now()
      const id = newId('whk_', at)
      of.transaction(() => {
        storeSettings(requireVault(), id, settings)
        rows.insert({ id, name, created_at: at, seq: events.last() })
      })
      deliveries.changed(id)
      return { ...shownOf(rows.get(id)!, settings), secret: settings.secret }
    },

    update(by, id, { name, enabled, ...changes }) {
      const { row, settings } = find(by, id)
      requireValid(changes)
      const { url, types, private_network: isPrivate } = changes
      const changed: Settings = {
        ...settings,
        url: url ?? settings.url,
        types: types ?? settings.types,
        private_network: isPrivate ?? settings.private_network,
      }
      requireTypes(by, changed)
      const state = enabled === undefined ? row.state : enabled ? 'active' : 'paused'
      of.transaction(() => {
        if (Object.keys(changes).length > 0) storeSettings(requireVault(), id, changed)
        if (name !== undefined) rows.rename(id, name)
        if (enabled !== undefined || url !== undefined) rows.setState(id, state)
      })
      deliveries.changed(id)
      return shownOf(rows.get(id)!, changed)
    },

    delete(by, id) {
      // A webhook with unreadable settings is not listed, but a restore names its id.
      if (!isGranted(by.scope, 'full') || rows.get(id) === null) find(by, id)
      deliveries.end(id)
    },

    async test(by, id) {
      const { settings } = find(by, id)
      if (testing.has(id))
        throw new AppError('rate_limited', 'A test of this webhook is running. Wait for its end.', {
          headers: { 'Retry-After': '15' },
        })
      testing.add(id)
      try {
        const at = timers.now()
        const event = {
          id: newId('evt_', at),
          type: 'webhook.test',
          timestamp: timeAt(at),
          data: { webhook_id: id },
        }
        const outcome = await deliveries.attempt(id, settings, event)
        const { delivered, status, error } = outcome
        return { delivered, event_id: event.id, status, error }
      } finally {
        testing.delete(id)
      }
    },

    deliveries(by, id) {
      find(by, id)
      return rows.deliveries(id).map((row) => ({
        id: row.event,
        type: row.type,
        state: row.state,
        attempts: row.attempts,
        status: row.status,
        error: row.error as WebhookDelivery['error'],
        first_attempt_at: timeAt(row.first_at),
        last_attempt_at: timeAt(row.last_at),
        next_attempt_at: timeOrNull(row.next_at),
      }))
    },
  }
}
