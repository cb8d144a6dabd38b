/** *live*: what changes, as events. A part of *rest*, but not of the resources of the account. */
import type { Table } from '../route.ts'
import { events } from './events.ts'

export const live = { events } as const satisfies Table
