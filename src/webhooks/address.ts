/**
 * Which IP addresses a webhook may reach. An IPv6 address that contains an IPv4 address counts as
 * that address.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
import { isIPv4, isIPv6 } from 'node:net'

/** `refused`: nothing is ever sent there. */
export type AddressKind = 'public' | 'private' | 'loopback' | 'refused'

type Rule = readonly [prefix: bigint, bits: number, kind: AddressKind]

/** Returns an IPv4 address as a number of 32 bits. */
const numberOf4 = (address: string): bigint =>
  address.split('.').reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)

/** Returns an IPv6 address as a number of 128 bits. */
function numberOf6(address: string): bigint {
  // The last 32 bits can be written as an IPv4 address (RFC 4291 section 2.2).
  const text = address.replace(/[^:]+\.[^:]+$/, (dotted) => {
    const bits = numberOf4(dotted)
    return `${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`
  })
  const [head = '', tail] = text.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  const [first, last] = [groups(head), groups(tail ?? '')]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0')
  return [...first, ...zeros, ...last].reduce(
    (sum, group) => (sum << 16n) | BigInt(`0x${group}`),
    0n,
  )
}

function rule(text: string, kind: AddressKind): Rule {
  const [address = '', bits] = text.split('/')
  return [isIPv4(address) ? numberOf4(address) : numberOf6(address), Number(bits), kind]
}

/** The first rule that matches decides. Other addresses are public. */
const RULES_4: readonly Rule[] = [
  // Metadata and control services of hosting providers, outside of 169.254.0.0/16.
  rule('100.100.100.200/32', 'refused'),
  rule('168.63.129.16/32', 'refused'),
  rule('0.0.0.0/8', 'refused'),
  rule('10.0.0.0/8', 'private'),
  rule('100.64.0.0/10', 'private'),
  rule('127.0.0.0/8', 'loopback'),
  rule('169.254.0.0/16', 'refused'), // link-local
  rule('172.16.0.0/12', 'private'),
  rule('192.0.0.0/24', 'refused'),
  rule('192.0.2.0/24', 'refused'),
  rule('192.88.99.0/24', 'refused'),
  rule('192.168.0.0/16', 'private'),
  rule('198.18.0.0/15', 'refused'),
  rule('198.51.100.0/24', 'refused'),
  rule('203.0.113.0/24', 'refused'),
  rule('224.0.0.0/3', 'refused'), // multicast, reserved, broadcast
]

/** The first rule that matches decides. Other addresses are refused. */
const RULES_6: readonly Rule[] = [
  rule('::1/128', 'loopback'),
  // Metadata services of hosting providers.
  rule('fd00:ec2::/32', 'refused'),
  rule('fd20:ce::/32', 'refused'),
  rule('fc00::/7', 'private'),
  rule('2001::/23', 'refused'), // protocol assignments, among them Teredo
  rule('2001:db8::/32', 'refused'),
  rule('2002::/16', 'refused'), // 6to4
  rule('3fff::/20', 'refused'),
  rule('2000::/3', 'public'),
]

const isIn = (address: bigint, length: number, [prefix, bits]: Rule): boolean =>
  address >> BigInt(length - bits) === prefix >> BigInt(length - bits)

const kindBy = (rules: readonly Rule[], address: bigint, length: number) =>
  rules.find((one) => isIn(address, length, one))?.[2]

const kindOf4 = (address: bigint): AddressKind => kindBy(RULES_4, address, 32) ?? 'public'

const MAPPED = rule('::ffff:0:0/96', 'refused')
/** RFC 6052: the IPv4 address that a translator (NAT64) reaches. */
const TRANSLATED = rule('64:ff9b::/96', 'refused')
const LAST_32 = 0xffff_ffffn

function kindOf6(address: bigint): AddressKind {
  if (isIn(address, 128, MAPPED)) return kindOf4(address & LAST_32)
  if (isIn(address, 128, TRANSLATED))
    return kindOf4(address & LAST_32) === 'public' ? 'public' : 'refused'
  return kindBy(RULES_6, address, 128) ?? 'refused'
}

/** Returns what an IP address is for; `refused` for other texts. */
export function kindOfAddress(address: string): AddressKind {
  if (isIPv4(address)) return kindOf4(numberOf4(address))
  // An address with a zone is link-local.
  return isIPv6(address) && !address.includes('%') ? kindOf6(numberOf6(address)) : 'refused'
}
