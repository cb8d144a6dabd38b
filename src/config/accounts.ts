/**
 * The settings for account servers and mail.
 *
 * They select the account server that the daemon uses, the listener of the daemon's own account
 * server, and how mail is sent.
 */
import { isIP } from 'node:net'
import { relayOf } from './relay.ts'
import {
  type Env,
  LOOPBACK,
  NO_NAMES,
  type ConfigPlatform,
  configFault,
  file,
  hostIn,
  isLoopback,
  origin,
  pathOn,
  read,
  wrong,
} from './values.ts'

/** Matches the variables with the addresses of named account servers. */
export const ENVIRONMENT_URL = /^SVC_ENV_([A-Z0-9_]+)_URL$/

/** How mail is sent: written to files in a folder, or passed to a relay. */
export interface MailConfig {
  /** The sender's address. */
  readonly from: string
  /** The absolute path of a folder, or the URL of a relay, which is a secret. */
  readonly place: { readonly dir: string } | { readonly smtp: string }
}

/**
 * Returns the address that the account server's own listener binds.
 *
 * The `server` command uses this listener, and so does the account server inside a daemon, for
 * guests and devices. A non-loopback address requires an https public URL, which implies a proxy
 * with TLS.
 * @throws StartError
 */
export function accountBind(env: Env, publicUrl: string | null): string {
  const value = read(env, 'SVC_ACCOUNT_BIND') ?? '127.0.0.1'
  const published = publicUrl?.startsWith('https:') ?? false
  if (isLoopback(value) || (published && isIP(value) !== 0)) return value
  if (published)
    throw wrong('SVC_ACCOUNT_BIND', value, `it must be a literal IP address. ${NO_NAMES}`)
  throw wrong(
    'SVC_ACCOUNT_BIND',
    value,
    `it must be ${LOOPBACK}. The account server, stand-alone or inside the daemon, listens on this address. Without TLS ` +
      'it must not be reachable from other machines. To serve guests and devices there, put a reverse proxy with TLS in front of it and ' +
      'set SVC_PUBLIC_URL to the https address of the proxy. Then any IP address of this machine is allowed.',
  )
}

/**
 * Returns the account server that the daemon uses.
 *
 * The addresses of all environments are checked, even those that are not selected.
 * @throws StartError
 */
export function backend(env: Env): {
  environment: string
  backendUrl: string | null
  isBackendSet: boolean
} {
  const urls = new Map<string, string>()
  for (const name of Object.keys(env)) {
    const [, which] = ENVIRONMENT_URL.exec(name) ?? []
    const url = which === undefined ? null : origin(env, name)
    if (which === 'EMBEDDED' && url !== null)
      throw configFault(
        `${name} has no effect, because "embedded" is the account server inside the daemon. Unset ${name}.`,
      )
    if (which !== undefined && url !== null) urls.set(which, url)
  }
  const environment = read(env, 'SVC_ENV') ?? 'embedded'
  const override = origin(env, 'SVC_BACKEND_URL')
  const isBackendSet = override !== null || read(env, 'SVC_ENV') !== null
  if (environment === 'embedded') return { environment, backendUrl: override, isBackendSet }
  if (!/^\w+$/.test(environment))
    throw wrong(
      'SVC_ENV',
      environment,
      'it must be embedded, or a name made of letters, digits and _.',
    )
  const backendUrl = override ?? urls.get(environment.toUpperCase())
  if (backendUrl !== undefined) return { environment, backendUrl, isBackendSet }
  throw wrong(
    'SVC_ENV',
    environment,
    `set SVC_ENV_${environment.toUpperCase()}_URL to the address of that account server, or leave it unset to use the one ` +
      'inside the daemon.',
  )
}

/** Matches one mailbox without a display name or a quoted local part (RFC 5322 section 3.4.1). */
const ADDRESS = /^[^\s@<>()[\]\\,;:"]{1,64}@[^\s@<>()\\,;:"]{1,255}$/

export function mailConfig(
  env: Env,
  {
    os,
    publicUrl,
    stateDir: folder,
  }: { os: ConfigPlatform; publicUrl: string | null; stateDir: string },
): MailConfig {
  const smtpUrl = read(env, 'SVC_SMTP_URL')
  const dir = file(env, 'SVC_MAIL_DIR', os)
  if (smtpUrl !== null && dir !== null)
    throw configFault(
      'SVC_MAIL_DIR and SVC_SMTP_URL are both set, but mail goes either to files or to a relay. Unset one.',
    )
  if (smtpUrl !== null) relayOf(smtpUrl)
  const from = read(env, 'SVC_MAIL_FROM') ?? `countersign@${mailHost(publicUrl)}`
  if (!ADDRESS.test(from))
    throw wrong('SVC_MAIL_FROM', from, 'it must be one address, for example accounts@example.org.')
  const place =
    smtpUrl === null ? { dir: dir ?? pathOn(os).join(folder, 'mail') } : { smtp: smtpUrl }
  return Object.freeze({ from, place: Object.freeze(place) })
}

/**
 * Returns the host for the sender's address.
 *
 * This is the host of the public URL if it is a name, and otherwise `localhost`.
 */
function mailHost(publicUrl: string | null): string {
  if (publicUrl === null) return 'localhost'
  const host = hostIn(publicUrl)
  return isIP(host) === 0 ? host : 'localhost'
}
