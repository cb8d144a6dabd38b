/** What the pages of people read besides the connections, kept current by events. */
import { allItems, api, dataOf, LARGEST_PAGE, type Schemas } from '../../data/api.ts'
import { useResource } from '../../data/resource.ts'
import type { NewestChecks } from './people-rows.ts'

/** How many pages of the verification log are read. */
const LOG_PAGES = 5

/** Returns all guest codes, also those that ended. */
export const useGuestCodes = () =>
  useResource(
    'guests',
    () => allItems((query) => dataOf(api.GET('/api/v1/guest-codes', { params: { query } }))),
    ['guest_code.*', 'session.*'],
  )

/** Returns the cards of all people that this device follows. */
export const useTrustCards = () =>
  useResource(
    'cards',
    () => allItems((query) => dataOf(api.GET('/api/v1/trust-cards', { params: { query } }))),
    ['trust.*', 'session.*'],
  )

/** Returns the invitations that this account has sent. */
export const useSentInvitations = () =>
  useResource('sent', async () => (await dataOf(api.GET('/api/v1/invitations'))).sent, [
    'invitation.*',
    'member.*',
    'session.*',
  ])

async function readChecks(): Promise<NewestChecks> {
  const entries: Schemas['LogEntry'][] = []
  let cursor: string | undefined
  for (let page = 0; page < LOG_PAGES; page++) {
    const query = { limit: LARGEST_PAGE, ...(cursor === undefined ? {} : { cursor }) }
    const read = await dataOf(api.GET('/api/v1/verification-log', { params: { query } }))
    entries.push(...read.items)
    if (read.next_cursor === null) return { entries, isAll: true }
    cursor = read.next_cursor
  }
  return { entries, isAll: false }
}

/** Returns the newest checks of words, newest first. */
export const useNewestChecks = () =>
  useResource('checks', readChecks, ['verification.made', 'session.*'])
