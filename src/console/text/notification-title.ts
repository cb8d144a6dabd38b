import { messages } from './text.tsx'

/** Returns the title of a kind of notification; undefined for a kind without one. */
export function notificationTitle(kind: string): string | undefined {
  const { notifications } = messages()
  return Object.hasOwn(notifications, kind)
    ? notifications[kind as keyof typeof notifications]
    : undefined
}
