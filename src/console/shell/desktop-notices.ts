/**
 * Notifications on the desktop for what newly needs the user, if the user allowed them and does not
 * look at the page. They name people and devices, and contain no words and no texts of others.
 */
import { effect, signal, type ReadonlySignal } from '@preact/signals'
import { displayedName } from '../../crypto/encoding/quoted.ts'
import { needs, type Needs } from '../data/needs.ts'
import { filled, messages } from '../text/text.tsx'
import { notificationTitle } from '../text/notification-title.ts'
import { hrefOf } from './router.ts'

// Some browsers have no notifications.
const permissionNow = signal<NotificationPermission>(
  'Notification' in window ? Notification.permission : 'denied',
)

/** Whether the browser shows notifications of this page. */
export const desktopPermission: ReadonlySignal<NotificationPermission> = permissionNow

/** Asks the user for the permission. Browsers require that a click causes the request. */
export async function askForDesktopPermission(): Promise<void> {
  permissionNow.value = await Notification.requestPermission()
}

/** The longest name in a notification, in characters. */
const LONGEST = 80

const nameIn = (name: string) => displayedName(name, LONGEST)

type Subject = readonly [key: string, text: string]

/** Returns what needs the user: a key for each subject, and a sentence. */
function subjectsOf(of: Needs): Subject[] {
  const texts = messages().needs
  const named = (name: string) => ({ name: nameIn(name) })
  return [
    ...of.notices.map((text): Subject => [text, texts.newNotice]),
    ...of.keys.map((one): Subject => [one.user_id, filled(texts.newKeys, named(one.display_name))]),
    ...of.forks.map((one): Subject => [one.id, filled(texts.newFork, named(one.name))]),
    ...of.devices.map((one): Subject => [one.id, filled(texts.newDevice, named(one.name))]),
    ...of.invitations.map(({ id, from, connection_name }): Subject => {
      const connection = nameIn(connection_name)
      return from.display_name === null
        ? [id, filled(texts.newInvitationBare, { connection })]
        : [id, filled(texts.newInvitation, { connection, name: nameIn(from.display_name) })]
    }),
    ...of.requests.map(({ id, requester }): Subject => [
      id,
      filled(texts.newRequest, named(requester.display_name)),
    ]),
    ...of.guests.map(({ code }): Subject => [code.id, filled(texts.newGuest, named(code.label))]),
    // A sync that fails again is not a new subject.
    ...of.syncs.map((): Subject => ['sync', texts.newSync]),
    ...of.notifications.map((one): Subject => [
      one.id,
      notificationTitle(one.kind) ?? texts.newNotification,
    ]),
  ]
}

function show([key, text]: Subject): void {
  // Another window of the console replaces the notification about the same subject.
  const shown = new Notification(text, { tag: key, body: messages().needs.newBody })
  shown.onclick = () => {
    window.focus()
    location.hash = hrefOf('needs')
    shown.close()
  }
}

/** Shows notifications from now on. What needs the user already at the start has none. */
export function followDesktopNotices(): void {
  let known: ReadonlySet<string> | null = null
  effect(() => {
    if (needs.value === null) return
    const subjects = subjectsOf(needs.value)
    const earlier = known
    known = new Set(subjects.map(([key]) => key))
    if (earlier === null || !document.hidden || permissionNow.peek() !== 'granted') return
    for (const subject of subjects) if (!earlier.has(subject[0])) show(subject)
  })
}
