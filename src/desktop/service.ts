/**
 * The service of the desktop that shows notifications.
 *
 * @see https://specifications.freedesktop.org/notification-spec/latest/protocol.html
 */
import { type Bus } from './bus.ts'
import { putList, putNumber, putText } from './wire.ts'

const NAME = 'org.freedesktop.Notifications'
const SERVICE = {
  destination: NAME,
  path: '/org/freedesktop/Notifications',
  interface: NAME,
}

/** The expiry that leaves the time to the service. */
const BY_SERVICE = -1

/** A notification, as a person sees it. */
export interface Bubble {
  /** One line, without names of others. */
  readonly summary: string
  /** Plain text. */
  readonly body: string
}

/** Returns a text as markup that shows it unchanged. */
const asMarkup = (plain: string): string =>
  plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/**
 * Shows a notification.
 * @param replaces the id of the notification that this one replaces; 0 for none
 * @returns its id
 * @throws Error if there is no service or it does not answer
 */
export async function showBubble(
  bus: Bus,
  { summary, body }: Bubble,
  replaces: number,
): Promise<number> {
  const can = (await bus.call({ ...SERVICE, member: 'GetCapabilities' })).texts()
  const shown = can.includes('body-markup') ? asMarkup(body) : body
  const reply = await bus.call({
    ...SERVICE,
    member: 'Notify',
    signature: 'susssasa{sv}i',
    args: [
      putText('Countersign'),
      putNumber(replaces),
      putText(''),
      putText(summary),
      putText(shown),
      putList(4, []),
      putList(8, []),
      putNumber(BY_SERVICE),
    ],
  })
  return reply.number32()
}

/**
 * Returns which service shows notifications: its name, an empty text if the bus would start it
 * first, or null if there is none. Starts nothing.
 */
export async function serviceName(bus: Bus): Promise<string | null> {
  const named = { signature: 's', args: [putText(NAME)] }
  if ((await bus.ask({ member: 'NameHasOwner', ...named })).number32() === 0) {
    const startable = (await bus.ask({ member: 'ListActivatableNames' })).texts()
    return startable.includes(NAME) ? '' : null
  }
  const about = await bus.call({ ...SERVICE, member: 'GetServerInformation' })
  const [name, , version] = [about.text(), about.text(), about.text()]
  return `${name} ${version}`
}
