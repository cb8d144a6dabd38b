/**
 * Addresses as limits count them. Many servers deliver `ada+anything@example.org` to
 * `ada@example.org` (RFC 5233), so limits for a mailbox leave out the tag. Dots and the rules of
 * single providers are not applied: `a.da@` and `ada@` are two people at most servers.
 */

const parts = (address: string): [local: string, domain: string] => {
  const at = address.lastIndexOf('@')
  return [address.slice(0, at), address.slice(at + 1)]
}

/** Returns the mailbox of an address in lower case: the address without its tag. */
export function mailboxOf(address: string): string {
  const [local, domain] = parts(address)
  const plus = local.indexOf('+')
  return plus <= 0 ? address : `${local.slice(0, plus)}@${domain}`
}

/** Returns the part of an address after the @. */
export const domainOf = (address: string): string => parts(address)[1]
