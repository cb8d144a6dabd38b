/** Which machines can open a link. Links are handed to others, so an answer with a link says it. */
import * as v from 'valibot'
import { isThisMachine } from '../config/values.ts'
import { named } from './fields.ts'

export const Reachable = named(
  'Reachable',
  v.pipe(
    v.picklist(['this_machine', 'network']),
    v.description(
      'Which machines can open the link. this_machine: only this one, because the link has a loopback address; ' +
        '"countersignd publish" explains how to change that. network: others too, if their network reaches the address.',
    ),
  ),
)
export type Reachable = v.InferOutput<typeof Reachable>

/** Returns which machines can open an absolute URL. Does not send a request. */
export function reachableFrom(url: string): Reachable {
  // A URL has an IPv6 address in brackets (RFC 3986 section 3.2.2).
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return isThisMachine(host) ? 'this_machine' : 'network'
}
