/**
 * Parses the URL of the relay for outgoing mail.
 *
 * No message shows any part of the URL, because it may contain a password.
 */
import { isIP } from 'node:net'
import { configFault, hostIn, isThisMachine } from './values.ts'

export interface Relay {
  readonly host: string
  readonly port: number
  /** Whether the connection uses TLS from the first byte (RFC 8314 section 3.3). */
  readonly secure: boolean
  /**
   * Whether STARTTLS must precede all other commands (RFC 3207).
   *
   * If the relay does not offer STARTTLS then, no mail is sent.
   */
  readonly requireTLS: boolean
  readonly auth: { readonly user: string; readonly pass: string } | null
}

const wrong = (what: string) =>
  configFault(`SVC_SMTP_URL ${what} (Its value may hold a password and is not shown.)`)

const malformed = () =>
  wrong(
    'must be smtp://host[:port] or smtps://user:password@host[:port], with a port from 1 to 65535. In user and password, percent-encode ' +
      'all characters except letters, digits and -._~ (for example @ as %40).',
  )

/**
 * Parses the URL of a relay.
 *
 * TLS is required unless the relay is on this machine or the URL has `?requireTLS=false`. A URL
 * with `?requireTLS=false` and a password is rejected if the relay is on another machine.
 * @throws StartError `configuration`
 */
export function relayOf(text: string): Relay {
  const url = URL.parse(text)
  if (url === null || !/^smtps?:\/\//i.test(text)) throw malformed()
  const host = hostIn(text).toLowerCase()
  const isBare = url.hash === '' && /^\/?$/.test(url.pathname) && url.port !== '0'
  if (!isBare || (isIP(host) === 0 && !/^[\w.-]+$/.test(host))) throw malformed()
  const secure = url.protocol === 'smtps:'
  const auth = authOf(url)
  const asked = optionOf(url)
  if (secure && asked !== null)
    throw wrong('must not set requireTLS with smtps://, which always uses TLS.')
  if (asked === false && auth !== null && !isThisMachine(host))
    throw wrong(
      'has requireTLS=false, which sends the password over the network in plain text. Remove requireTLS=false, or ' +
        'user and password.',
    )
  return {
    host,
    // RFC 8314 section 3.3, RFC 6409 section 3.1.
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: !secure && (asked ?? !isThisMachine(host)),
    auth,
  }
}

function authOf({ username, password }: URL): Relay['auth'] {
  if (username === '' && password === '') return null
  if (username === '' || password === '')
    throw wrong('must have both a user and a password, or neither.')
  try {
    return { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  } catch {
    throw malformed()
  }
}

/** Returns the value of the only option, `requireTLS`; null if it is not set. */
function optionOf({ searchParams }: URL): boolean | null {
  const [option, ...others] = searchParams
  if (option === undefined) return null
  const [name, value] = option
  if (others.length === 0 && name === 'requireTLS' && (value === 'true' || value === 'false'))
    return value === 'true'
  throw wrong('may have one option only, ?requireTLS=true or ?requireTLS=false.')
}
