/**
 * All handlers of the daemon's routes: the rows marked `daemon` or `both`. The mapped type makes
 * the compiler report a missing handler.
 */
import { agents } from '../api/agents/index.ts'
import { consoleTable } from '../api/console/index.ts'
import { docsTable } from '../api/docs/index.ts'
import { rest } from '../api/rest/index.ts'
import type { Route } from '../api/route.ts'
import { type ByRow, lazily, mapRows } from '../api/rows.ts'
import {
  type AgentHandlers,
  type ConsoleHandlers,
  type DocsHandlers,
  type HandlerContext,
  type Handlers,
  keeperOf,
} from './context.ts'

const handlers = lazily<Handlers>(rest, ['daemon', 'both'], {
  health: async () => (await import('./status.ts')).health,
  metrics: async () => (await import('./status.ts')).metrics,
  status: async () => (await import('./status.ts')).status,
  doctor: async () => (await import('./status.ts')).doctor,
  sync: async () => (await import('./status.ts')).sync,
  token: async () => (await import('./account.ts')).token,
  openapi: async () => (await import('./docs/documents.ts')).openapi,
  tools: async () => (await import('./docs/documents.ts')).tools,
  docs: async () => (await import('./docs/documents.ts')).docs,
  verify: async () => (await import('./verify.ts')).verify,
  stamp: async () => (await import('./stamp.ts')).stamp,
  stamps: async () => (await import('./stamps.ts')).stamps,
  verificationLog: async () => (await import('./verify.ts')).verificationLog,
  connections: async () => (await import('./connections.ts')).connections,
  members: async () => (await import('./connections.ts')).members,
  invitations: async () => (await import('./invitations.ts')).invitations,
  contactWords: async () => (await import('./invitations.ts')).contactWords,
  firstContacts: async () => (await import('./invitations.ts')).firstContacts,
  guestCodes: async () => (await import('./guest-codes.ts')).guestCodes,
  externalMembers: async () => (await import('./guest-codes.ts')).externalMembers,
  openLinkRequests: async () => (await import('./invitations.ts')).openLinkRequests,
  tags: async () => (await import('./connections.ts')).tags,
  exports: async () => (await import('./account.ts')).exports,
  account: async () => (await import('./account.ts')).account,
  trustCards: async () => (await import('./trust-cards.ts')).trustCards,
  trust: async () => (await import('./trust-cards.ts')).trust,
  preferences: async () => (await import('./account.ts')).preferences,
  profile: async () => (await import('./account.ts')).profile,
  profiles: async () => (await import('./profiles.ts')).profiles,
  devices: async () => (await import('./account.ts')).devices,
  approvals: async () => (await import('./approvals.ts')).approvals,
  context: async () => (await import('./account.ts')).context,
  apiTokens: async () => (await import('./account.ts')).apiTokens,
  audit: async () => (await import('./audit.ts')).audit,
  events: async () => (await import('./events.ts')).events,
  webhooks: async () => (await import('./webhooks.ts')).webhooks,
})

type Answer = (input: unknown, context: HandlerContext) => Promise<unknown>
type Passed = ByRow<(input: unknown) => Promise<unknown>>

/**
 * Forwards a request unchanged to the caller's account. A device that waits for approval may only
 * read.
 */
const passedOn =
  (group: string, name: string, writes: boolean): Answer =>
  async (input, context) => {
    if (writes) keeperOf(context)
    return (context.account as unknown as Passed)[group]?.[name]?.(input)
  }

const ownAnswers = handlers as unknown as ByRow<Answer>

/** The handler of every REST route, by group and name. */
export const restAnswers: ByRow<Answer> = mapRows<Route, Answer>(
  rest,
  ({ by, method }, name, group) =>
    by === 'account' ? passedOn(group, name, method !== 'GET') : ownAnswers[group]?.[name],
)

/** The tools, over plain HTTP and over MCP. */
export const agentAnswers = lazily<AgentHandlers>(agents, ['daemon'], {
  mcp: async () => (await import('./agents/mcp.ts')).mcp,
  toolCalls: async () => (await import('./agents/tools.ts')).toolCalls,
})

/**
 * The start page and the files of the documentation page. The page itself is a REST route
 * (`documents.ts`).
 */
export const docsAnswers = lazily<DocsHandlers>(docsTable, ['daemon'], {
  home: async () => (await import('./docs/home.ts')).home,
  docsFiles: async () => (await import('./docs/docs-files.ts')).files,
})

/** The console's way in and its files. Its page is also the start page (`docs/home.ts`). */
export const consoleAnswers = lazily<ConsoleHandlers>(consoleTable, ['daemon'], {
  consoleCodes: async () => (await import('./console/session.ts')).consoleCodes,
  consoleSession: async () => (await import('./console/session.ts')).consoleSession,
  consoleEntry: async () => (await import('./console/files.ts')).consoleEntry,
  consoleFiles: async () => (await import('./console/files.ts')).consoleFiles,
})
