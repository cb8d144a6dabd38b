/**
 * Uses a daemon over HTTP, in TypeScript: lists the connections, verifies three words, stamps a
 * file. Needs Node 24, `openapi-fetch`, and the types of the interface, which `npm run types`
 * generates.
 *
 *   echo 'matador carload recede' | npx node examples/client.ts invoice.pdf
 *
 * COUNTERSIGN_TOKEN: a token of scope write; without it, one is created for ten minutes.
 * SVC_HTTP_BIND and SVC_HTTP_PORT: the daemon's address and port, if they differ from the
 * defaults. COUNTERSIGN_URL: its whole base URL, in place of both.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { text } from 'node:stream/consumers'
import createClient from 'openapi-fetch'
import type { components, paths } from '../dist/api.d.ts'

type ApiError = components['schemas']['Error']
type Connection = components['schemas']['Connection']

/**
 * Returns the daemon's URL. An empty variable counts as unset; an IPv6 address needs brackets in
 * a URL.
 */
function urlOf(env: NodeJS.ProcessEnv): string {
  const bind = env['SVC_HTTP_BIND'] || '127.0.0.1'
  const host = bind.includes(':') ? `[${bind}]` : bind
  return env['COUNTERSIGN_URL'] || `http://${host}:${env['SVC_HTTP_PORT'] || '19821'}`
}

const baseUrl = urlOf(process.env)
const api = createClient<paths>({ baseUrl })

/**
 * Returns the data of a response, or throws the daemon's error message, which names the remedy.
 */
async function good<T>(asked: Promise<{ data?: T; error?: ApiError }>): Promise<T> {
  const { data, error } = await asked
  if (error !== undefined) throw new Error(error.message)
  return data as T
}

async function authenticate(): Promise<void> {
  const body = { name: 'example', scope: 'write', expires_in: 600 } as const
  const token =
    process.env['COUNTERSIGN_TOKEN'] ?? (await good(api.POST('/api/v1/token', { body }))).token
  api.use({
    onRequest: ({ request }) => request.headers.set('Authorization', `Bearer ${token}`),
  })
}

/** Yields all connections, page by page. */
async function* connections(): AsyncIterable<Connection> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const query = cursor === undefined ? {} : { cursor }
    const page = await good(api.GET('/api/v1/connections', { params: { query } }))
    yield* page.items
    cursor = page.next_cursor
  }
}

async function main(file: string | undefined): Promise<void> {
  if (file === undefined)
    throw new Error('Name a file to stamp, and write three words to standard input.')
  const sha256 = createHash('sha256')
  for await (const chunk of createReadStream(file)) sha256.update(chunk as Buffer)
  const words = (await text(process.stdin)).trim()

  await authenticate()
  for await (const { id, name, state } of connections()) console.log(`${id}  ${name} (${state})`)
  if (words !== '') {
    const { summary } = await good(api.POST('/api/v1/verify', { body: { words } }))
    console.log(summary)
  }
  // The daemon signs the digest. The file is not uploaded.
  const body = { sha256: sha256.digest('hex') }
  console.log((await good(api.POST('/api/v1/stamp', { body }))).verification_url)
}

try {
  await main(process.argv[2])
} catch (error) {
  // If fetch cannot connect, its TypeError does not name the cause.
  const isUnreachable = error instanceof TypeError
  console.error(
    isUnreachable
      ? `No daemon answers at ${baseUrl}: start one with "countersignd serve".`
      : (error as Error).message,
  )
  process.exitCode = 1
}
