/** People with daemons of their own, which learn of changes by a stream of hints. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { across } from '../cli/across.ts'
import { terminal } from '../cli/terminal.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { until } from '../until.ts'
import { type Json, caller, newToken } from './caller.ts'
import { startDaemon } from './program.ts'
import { login } from './servers.ts'

/** An account server, and the folder of the mails that it sends. */
interface Place {
  readonly url: string
  readonly mailDir: string
}

/** Signs in a further device of a person, which the first device approves by the words of both. */
async function loginFurther(
  stateDir: string,
  of: Place & { readonly email: string; readonly first: string },
): Promise<void> {
  const { url, mailDir, email, first } = of
  const codes = async () => (await lettersIn(mailDir, email)).filter(hasCode)
  const { length: before } = await codes()
  const env = { SVC_BACKEND_URL: url }
  const { login: signedIn, approve } = await across(
    (typed) => terminal(stateDir)(['login', '--email', email], { env, person: typed }),
    (typed) => terminal(first)(['device', 'approve'], { env, person: typed }),
    () =>
      until('the code', async () => {
        const all = await codes()
        return all.length > before ? codeIn(all.at(-1)!) : undefined
      }),
  )
  assert.deepEqual([signedIn.code, approve.code], [0, 0], signedIn.err + approve.err)
}

/**
 * Starts the daemon of a person, and waits until changes reach it by a stream.
 * @param first the state folder of the first device, which approves this one
 */
export async function person(t: TestContext, name: string, of: Place & { first?: string }) {
  const stateDir = freshFolder(t)
  const daemon = await startDaemon(stateDir, { SVC_BACKEND_URL: of.url })
  t.after(() => daemon.end('SIGKILL'))
  const email = `${name}@example.org`
  const { first } = of
  if (first === undefined) await login(stateDir, { server: of.url, mailDir: of.mailDir, email })
  else await loginFurther(stateDir, { ...of, email, first })
  const { token } = await newToken(daemon.address)
  const call = caller(daemon.address, token)
  const streams = async () => ((await call('GET /api/v1/status')) as Json).stream
  await until(`the stream of ${name}`, async () => (await streams())?.state === 'open')
  const isFound = async (path: string) => {
    const answer = await fetch(daemon.address + path, {
      headers: { Authorization: `Bearer ${token}` },
    })
    return answer.status === 200
  }
  const codeOf = (id: string) => isFound(`/api/v1/connections/${id}/code`)
  /** Whether the device has the secret of a guest code. */
  const hasGuest = (id: string) => isFound(`/api/v1/guest-codes/${id}/qr`)
  const epochOf = async (id: string) =>
    ((await call(`GET /api/v1/connections/${id}`)) as Json).epoch
  return { stateDir, email, daemon, call, streams, codeOf, hasGuest, epochOf }
}

export type Person = Awaited<ReturnType<typeof person>>

/** Creates a connection of the first person and invites the second. Returns their invitation. */
export async function invited(from: Person, to: Person, name: string): Promise<Json> {
  const { id } = await from.call('POST /api/v1/connections', {
    name,
    invite: [{ email: to.email }],
  })
  return until('the invitation', async () => {
    const { received } = (await to.call('GET /api/v1/invitations')) as Json
    return received.find((one: Json) => one.connection_id === id)
  })
}
