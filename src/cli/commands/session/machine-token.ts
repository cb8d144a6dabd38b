import * as v from 'valibot'
import { oauth } from '../../../api/device/machines.ts'
import { timeAt } from '../../../api/fields.ts'
import type { MachineKey } from '../../../api/local/index.ts'
import { decodeBase64url } from '../../../crypto/encoding/base64url.ts'
import { signAssertion } from '../../../crypto/jose/client-assertion.ts'
import { AppError, StartError } from '../../../errors.ts'
import { valueOf } from '../../../remote/answer.ts'
import { type TransportResponse, openTransport, readAuthority } from '../../../remote/transport.ts'
import { Passing } from '../../../remote/faults.ts'
import { type Command, UsageError } from '../../command.ts'
import { printLabelled } from '../../labels.ts'
import { span } from '../../option-fields.ts'
import { readKeyFile } from './machine-key-file.ts'
import { shown } from '../../table.ts'

const SCOPES: readonly unknown[] = ['read', 'write', 'full']
type Reply = v.InferOutput<typeof oauth.token.reply>

/**
 * The error response of RFC 6749, section 5.2. Its texts are sanitised before they are displayed.
 */
const Refused = v.object({ error: v.string(), error_description: v.optional(v.string()) })

function jsonOf({ body }: TransportResponse): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function replyOf(answer: TransportResponse, endpoint: string): Reply {
  // An outage or a rate limit is not a rejection of the client, so it is handled as for every
  // route.
  if (answer.status >= 500 || answer.status === 429)
    return valueOf(answer, oauth.token, new URL(endpoint).origin) as Reply
  const value = jsonOf(answer)
  const reply = v.safeParse(oauth.token.reply, value)
  if (answer.status === 200 && reply.success) return reply.output
  const refused = v.safeParse(Refused, value)
  if (answer.status < 400 || !refused.success)
    throw new AppError(
      'backend_error',
      `The token_endpoint of the key file, ${endpoint}, answered with status ${answer.status}, and not in the form of a token endpoint (RFC 6749). Check that an account server runs at this address.`,
    )
  const { error, error_description } = refused.output
  const message = `The account server issued no token (${shown(error)})${error_description === undefined ? '.' : `: ${shown(error_description)}`}`
  if (error !== 'invalid_client') throw new AppError('invalid_request', message)
  // The server does not report whether the audience, the times or the key of an assertion is wrong.
  const { origin } = new URL(endpoint)
  throw new AppError(
    'invalid_client',
    `${message} Check that ${origin} is the SVC_PUBLIC_URL of the server, that the clock of this machine is right (${timeAt(answer.sentAt)}), and that the machine account is not suspended.`,
  )
}

/**
 * Returns the form for the token request.
 *
 * An assertion takes the place of a client secret (RFC 7523, section 2.2).
 */
async function formOf(key: MachineKey, scope: string | undefined): Promise<string> {
  const { machine, token_endpoint: audience, kty, crv, x } = key
  const pair = { secret: decodeBase64url(key.d), jwk: { kty, crv, x } }
  const at = Math.floor(Date.now() / 1000)
  return new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await signAssertion({ machine, audience, at }, pair),
    ...(scope === undefined ? {} : { scope }),
  }).toString()
}

/**
 * Requests a token from the token endpoint that a key file names.
 * @throws StartError if the endpoint is not https, AppError for an error response
 */
async function tokenFor(
  key: MachineKey,
  scope: string | undefined,
  ca: string | null,
): Promise<Reply> {
  const url = URL.parse(key.token_endpoint)
  if (url === null)
    throw new StartError('configuration', 'The token_endpoint of the key file is not a URL.')
  const transport = openTransport({ base: url.origin, ca, now: Date.now })
  const body = await formOf(key, scope)
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': String(Buffer.byteLength(body)),
    Accept: 'application/json',
  }
  try {
    const target = url.pathname + url.search
    const answer = await transport.exchange({ method: 'POST', target, headers, body })
    return replyOf(answer, key.token_endpoint)
  } catch (error) {
    throw error instanceof Passing ? error.error : error
  } finally {
    transport.close()
  }
}

export const machineToken: Command = {
  usage: '--key-file FILE [--scope read|write|full] [--json]',
  help: `
Gets an API token (csm_…) for a machine account with its key. Only the token goes to standard output; its scope and
lifetime go to standard error. The command needs no daemon. It asks the account server named in the key file, over
https or on this machine (OAuth 2.0 client credentials with private_key_jwt). The token is valid for one hour, on
that account server and on every daemon that uses it. Run the command again to get another token. Earlier tokens
stay valid until they expire or are revoked.

  --key-file FILE   the key file that "countersignd machine create" wrote
  --scope SCOPE     what the token allows: read; write, which includes read; or full, which includes write and also
                    managing the tokens of the account (default: read)`,
  examples: {
    'machine token --key-file machine.json --scope read': 'print a token that is valid for an hour',
  },
  options: { 'key-file': { type: 'string' }, scope: { type: 'string' } },
  needs: [['key-file']],
  args: [0, 0],
  async run(invocation) {
    const { options, config } = invocation
    const { 'key-file': file, scope } = options
    if (scope !== undefined && !SCOPES.includes(scope))
      throw new UsageError(`--scope: "${String(scope)}" is not read, write or full.`)
    const key = readKeyFile(String(file))
    const made = await tokenFor(key, scope as string | undefined, readAuthority(config().caFile))
    printLabelled(invocation, made, {
      bare: made.access_token,
      rows: [['Token', made.access_token]],
      details: [
        ['Scope', made.scope],
        ['Valid for', span(made.expires_in)],
      ],
    })
  },
}
