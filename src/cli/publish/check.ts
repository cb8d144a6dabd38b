/**
 * Checks a public address: whether it reaches this account server, and whether it reaches more than
 * the pages.
 *
 * The requests are those that a visitor could send. Only the system's certificate authorities are
 * trusted, because the browsers of visitors trust no others.
 */
import { randomBytes } from 'node:crypto'
import { clock } from '../../api/device/index.ts'
import { site } from '../../api/site/index.ts'

const TIMEOUT_MS = 10_000

/** The path of the API that every daemon answers without a token. */
const API_PATH = '/api/v1/openapi.json'

interface Reply {
  readonly status: number
  /** The parsed body; null if it is not JSON. */
  readonly json: { readonly error?: unknown; readonly proof?: unknown } | null
}

/** A question to an address, or the sentence that says why there is no answer. */
async function ask(base: string, path: string): Promise<Reply | string> {
  try {
    const response = await fetch(base + path, {
      redirect: 'manual',
      // So that each check connects anew, and no idle connection delays the end of the command.
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    return { status: response.status, json: jsonIn(text) }
  } catch (error) {
    return whyNot(base, error as Error)
  }
}

function jsonIn(text: string): Reply['json'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

/** The sentences for the errors that operators cause most, by the code of Node or OpenSSL. */
const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name has no address. Check the DNS entry.',
  ECONNREFUSED: 'nothing listens there. Start the proxy, and check its port.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name.',
  CERT_HAS_EXPIRED: 'its certificate has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed, so browsers show a warning.',
}

function whyNot(base: string, error: Error): string {
  if (error.name === 'TimeoutError')
    return `${base} did not answer within ${TIMEOUT_MS / 1000} seconds. Check the firewall and the proxy.`
  const { code = error.message } = (error.cause ?? error) as NodeJS.ErrnoException
  return `${base} cannot be reached: ${REASONS[code] ?? `${code}.`}`
}

const proofOf = (reply: Reply): string | null =>
  reply.status === 200 && typeof reply.json?.proof === 'string' ? reply.json.proof : null

const isHostRejected = (reply: Reply): boolean => reply.json?.error === 'host_not_allowed'

/** Returns what is wrong with an answer that has no right proof. */
function wrongAnswer(base: string, local: string, reply: Reply): string {
  const { status } = reply
  if (isHostRejected(reply))
    return `${base} reaches a countersignd that does not know this address. Let the proxy pass on the Host header, and send the requests to ${local}.`
  if (status === 502 || status === 503 || status === 504)
    return `The proxy at ${base} answers ${status}: it does not reach ${local}. Check its configuration.`
  return `${base} answers, but not with this account server (status ${status}). Let the proxy send the paths of the recipe to ${local}.`
}

/** Returns sentences about what an address reaches besides the pages. */
function whatElse(
  base: string,
  { page, api, devices }: Record<'page' | 'api' | 'devices', Reply | string>,
): string[] {
  const found: string[] = []
  // The listener of the API rejects the name of the proxy. If the pages are not rejected at the
  // same name, the API's path reaches another listener.
  const isApi =
    typeof api !== 'string' &&
    (api.status === 200 ||
      (isHostRejected(api) && typeof page !== 'string' && !isHostRejected(page)))
  if (isApi)
    found.push(
      `${base}${API_PATH} reaches the API of a daemon, so everyone could use your account. Stop the proxy now, and let it send nothing to the port of the API.`,
    )
  if (typeof devices !== 'string' && devices.status === 200)
    found.push(
      `${base} reaches more than the pages: ${clock.read.path} answers too. Visitors do not need it. Let the proxy pass on only the paths of the recipe.`,
    )
  return found
}

/**
 * Checks a public address with four requests.
 * @param base the public address, an origin
 * @param local the address of the account server on this machine, an origin
 * @returns what is wrong, as sentences with a remedy; none if the address reaches this account
 *   server and only its pages
 */
export async function checkPublication(base: string, local: string): Promise<readonly string[]> {
  const nonce = randomBytes(16).toString('base64url')
  const path = site.addressProofs.read.path.replace('{nonce}', nonce)
  const [here, page, api, devices] = await Promise.all([
    ask(local, path),
    ask(base, path),
    ask(base, API_PATH),
    ask(base, clock.read.path),
  ])
  if (typeof here === 'string') return [here]
  if (typeof page === 'string') return [page]
  const proof = proofOf(page)
  const isHere = proof !== null && proof === proofOf(here)
  return [
    ...(isHere ? [] : [wrongAnswer(base, local, page)]),
    ...whatElse(base, { page, api, devices }),
  ]
}
