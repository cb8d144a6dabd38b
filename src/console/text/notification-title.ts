import type { ConsoleMessages } from '../../languages/console/translation.ts'
import { messages } from './text.tsx'

/** The kinds of notifications with a title in the catalogues. */
const KINDS = [
  'invitation_approved',
  'invitation_declined',
  'invitation_withdrawn',
  'invitation_expired',
  'member_joined',
  'member_left',
  'connection_ended',
  'removed_from_connection',
  'guest_code_opened',
  'keys_changed',
  'device_added',
  'device_revoked',
  'recovery_key_changed',
  'account_reset',
  'email_added',
  'export_ready',
  'export_failed',
  'webhook_given_up',
  'org_invited',
  'org_alert',
  'org_activated',
  'org_suspended',
  'org_role_changed',
] as const satisfies readonly (keyof ConsoleMessages['needs'])[]

/** Returns the title of a kind of notification; undefined for a kind of a newer server. */
export function notificationTitle(kind: string): string | undefined {
  const known = KINDS.find((one) => one === kind)
  return known === undefined ? undefined : messages().needs[known]
}
