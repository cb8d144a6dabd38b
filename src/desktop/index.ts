/** Creates the desktop notifications of a daemon from its parts. */
import { inQuotes, someoneOf } from '../api/name-text.ts'
import type { DeviceSession } from '../device/session/session.ts'
import { namedInvitation } from '../handlers/named.ts'
import type { Log } from '../log.ts'
import { sessionBus } from '../runtime/session-bus.ts'
import type { EventRows } from '../state/events.ts'
import { systemTimers } from '../runtime/timers.ts'
import { followForDesktop } from './desktop.ts'
import { type Names, harmless } from './subjects.ts'

/** A new request is among the newest of this many. */
const NEWEST = 50

/** Returns the names as this device shows them elsewhere. */
const namesOf = (deviceSession: DeviceSession): Names => ({
  ownDevice: () => deviceSession.identity()?.device ?? null,

  async invitation(id) {
    const account = deviceSession.account()
    const { received } = await account.invitations.pending({})
    const listed = received.find((one) => one.id === id)
    if (listed === undefined) return null
    const { from, ...of } = await namedInvitation(listed, deviceSession.device(), account)
    const { display_name: name, name_source: source, name_marks: marks } = from
    if (name === null) return null
    const inviter = someoneOf({
      display_name: harmless(name),
      name_source: source ?? 'server',
      name_marks: marks,
    })
    return `The inviter is ${inviter}. The connection is ${inQuotes(harmless(of.connection_name))}.`
  },

  async request(id) {
    const { items } = await deviceSession.account().openLinkRequests.list({ limit: NEWEST })
    const asker = items.find((one) => one.id === id)?.requester
    if (asker === undefined) return null
    const { display_name: name, email } = asker
    return `${inQuotes(harmless(name))} at ${harmless(email)} used an open link.`
  },
})

/** Shows the events of a daemon from now on. Returns a function that ends this. */
export const showOnDesktop = (of: {
  readonly events: EventRows
  readonly deviceSession: DeviceSession
  readonly now: () => number
  readonly log: Log
}): (() => void) =>
  followForDesktop({
    events: of.events,
    names: namesOf(of.deviceSession),
    address: sessionBus,
    timers: systemTimers(of.now),
    log: of.log,
  })
