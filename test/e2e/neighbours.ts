/**
 * Two accounts on one account server, each with a daemon of its own, called over HTTP as by
 * scripts.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type TestServer, startAccountServer } from '../account-server.ts'
import { type Answer, startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import type { Json } from './caller.ts'
import { login } from './servers.ts'

export interface Neighbour {
  readonly email: string
  /** The id of the account. */
  readonly id: string
  readonly stateDir: string
  /** Sends a request with a token of full scope. */
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Answer>
  /** Sends a request as the command line does. */
  readonly askAsOwner: Neighbour['ask']
  /** Sends a request that must succeed; returns the body. */
  readonly good: (method: string, path: string, body?: unknown) => Promise<Json>
  readonly close: () => Promise<void>
}

/**
 * Starts an account server and the daemons of users who are signed in to it. The caller closes
 * them.
 */
export async function startNeighbours(
  t: Pick<TestContext, 'after'>,
  names: readonly string[],
  env: Record<string, string> = {},
): Promise<{ server: TestServer; mailDir: string; people: Neighbour[] }> {
  const mailDir = freshFolder(t as TestContext)
  const server = await startAccountServer(t, { SVC_MAIL_DIR: mailDir, ...env })
  const people: Neighbour[] = []
  for (const name of names) {
    const stateDir = freshFolder(t as TestContext)
    const email = `${name}@example.org`
    await login(stateDir, { server: server.address, mailDir, email })
    const daemon = await startDaemon({ SVC_STATE_DIR: stateDir, SVC_BACKEND_URL: server.address })
    t.after(() => daemon.close())
    const token = await daemon.token('full')
    const ask: Neighbour['ask'] = (method, path, body) =>
      daemon.request(method, path, { token, body })
    const askAsOwner: Neighbour['ask'] = (method, path, body) =>
      daemon.request(method, path, { token: daemon.owner(), body })
    const good: Neighbour['good'] = async (method, path, body) => {
      const { status, text, json } = await ask(method, path, body)
      assert(status < 300, `${method} ${path}: ${status} ${text}`)
      return json as Json
    }
    // The page of an open link needs one.
    await good('PATCH', '/api/v1/profile', { display_name: name })
    const { user } = await good('GET', '/api/v1/context')
    people.push({
      email,
      id: user.id,
      stateDir,
      ask,
      askAsOwner,
      good,
      close: () => daemon.close(),
    })
  }
  return { server, mailDir, people }
}
