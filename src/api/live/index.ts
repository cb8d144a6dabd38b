/** *live*: what changes, as events. A part of *rest*, but not of the resources of the account. */
import type { Table } from '../route.ts'
import { events } from './events.ts'
import { webhooks } from './webhooks.ts'

export const live = { events, webhooks } as const satisfies Table
