/** The verification log: what is filtered, and how it is written to a file. */
import { allItems, api, dataOf, LARGEST_PAGE, type Schemas } from '../../data/api.ts'
import { messages } from '../../text/text.tsx'
import { callerText } from '../../ui/caller-name.tsx'

/** A check of words. */
export type LoggedCheck = Schemas['LogEntry']

interface CheckPage {
  readonly items: LoggedCheck[]
  readonly next_cursor: string | null
}

/** What of the log is shown. Empty texts do not filter. */
export interface CheckFilter {
  readonly person: string
  readonly outcome: string
  /** Days in UTC, as the API takes them. */
  readonly from: string
  readonly to: string
}

type Match = LoggedCheck['matches'][number]

/** Returns the name of a match; null for a stamp, which names no person. */
export const nameOfLogged = ({ connection_name, display_name, external_member }: Match) =>
  external_member?.display_name ?? display_name ?? connection_name ?? null

const namesIn = ({ connection_name, display_name, external_member }: Match): string =>
  [connection_name, display_name, external_member?.display_name].join(' ')

/** Returns whether an entry fits the parts of a filter that the API does not have. */
export function fitsCheckFilter(check: LoggedCheck, { person, outcome }: CheckFilter): boolean {
  if (outcome !== '' && check.outcome !== outcome) return false
  const wanted = person.trim().toLowerCase()
  return (
    wanted === '' || check.matches.some((match) => namesIn(match).toLowerCase().includes(wanted))
  )
}

/** Reads a page of the log. */
export const readChecks = (
  { from, to }: CheckFilter,
  page: { readonly limit?: number; readonly cursor?: string },
): Promise<CheckPage> =>
  dataOf(
    api.GET('/api/v1/verification-log', {
      params: {
        query: {
          limit: LARGEST_PAGE,
          ...page,
          ...(from === '' ? {} : { from }),
          ...(to === '' ? {} : { to }),
        },
      },
    }),
  )

/** Returns all entries that fit a filter as rows, the first with the headings. */
export async function checkRows(filter: CheckFilter): Promise<string[][]> {
  const { log } = messages()
  const all = await allItems((query) => readChecks(filter, query))
  return [
    [log.time, log.outcome, log.who, log.method, log.by, 'id'],
    ...all
      .filter((check) => fitsCheckFilter(check, filter))
      .map((check) => [
        check.at,
        log[check.outcome],
        check.matches.map((match) => nameOfLogged(match) ?? log.stamp).join('; '),
        log[check.method],
        callerText(check.caller ?? 'command line'),
        check.id,
      ]),
  ]
}
