/** The URL of a webhook: which are accepted, and to which addresses it leads. */
import { isIP } from 'node:net'
import { type AddressKind, kindOfAddress } from './address.ts'

/** Where a webhook sends to. */
export interface Target {
  readonly url: string
  /** Whether the host name may have addresses of private networks. */
  readonly private_network: boolean
}

/** Why nothing was sent. */
export class NotSent extends Error {
  readonly reason: 'address_not_allowed' | 'name_not_resolved'

  constructor(reason: NotSent['reason'], options?: ErrorOptions) {
    super(reason, options)
    this.reason = reason
  }
}

/** The host of a URL; an IPv6 address without its brackets. */
const hostOfUrl = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

const isLocalhost = (host: string) => host === 'localhost'

/** Returns the kinds of addresses that a host may have. */
function allowedKinds(host: string, isPrivate: boolean): readonly AddressKind[] {
  // RFC 6761 section 6.3
  if (isLocalhost(host)) return ['loopback']
  if (isIP(host) !== 0) return ['public', 'private', 'loopback']
  return isPrivate ? ['public', 'private'] : ['public']
}

/** Returns what is wrong with the URL of a webhook; null if nothing is. */
export function faultOfUrl(text: string): string | null {
  if (!URL.canParse(text)) return 'Expected a URL such as https://example.org/hook.'
  const url = new URL(text)
  const host = hostOfUrl(url)
  if (url.username !== '' || url.password !== '')
    return 'A URL with a user name or a password is not allowed. Put a secret into the path.'
  if (text.includes('#')) return 'A URL with a fragment is not allowed. Fragments are never sent.'
  const isLoopbackHost = isLocalhost(host) || kindOfAddress(host) === 'loopback'
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost))
    return 'Use https. http is allowed only for localhost, 127.0.0.0/8 and [::1].'
  if (isIP(host) !== 0 && kindOfAddress(host) === 'refused')
    return `Nothing is sent to ${host}: the address is link-local, multicast, reserved, or of a metadata service.`
  return null
}

/** Returns the port to which a URL leads. */
const portOf = ({ protocol, port }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/**
 * Returns the addresses to which a request to the target may connect.
 * @param resolve returns all addresses of a host name
 * @param ownPorts the ports on which this daemon listens
 * @throws NotSent if the name has no address, or one that is not allowed
 */
export async function addressesOf(
  { url: text, private_network }: Target,
  resolve: (host: string) => Promise<readonly string[]>,
  ownPorts: readonly number[],
): Promise<readonly string[]> {
  const url = new URL(text)
  const host = hostOfUrl(url)
  const allowed = allowedKinds(host, private_network)
  const addresses = isIP(host) === 0 ? await resolved(host, resolve) : [host]
  const isFine = (address: string) => {
    const kind = kindOfAddress(address)
    return allowed.includes(kind) && !(kind === 'loopback' && ownPorts.includes(portOf(url)))
  }
  // One refused address is enough: a name that leads to several places at once is not trusted.
  if (!addresses.every(isFine)) throw new NotSent('address_not_allowed')
  return addresses
}

async function resolved(
  host: string,
  resolve: (host: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  try {
    const addresses = await resolve(host)
    if (addresses.length > 0) return addresses
  } catch (cause) {
    throw new NotSent('name_not_resolved', { cause })
  }
  throw new NotSent('name_not_resolved')
}
