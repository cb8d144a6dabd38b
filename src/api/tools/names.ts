/** Replaces names in the arguments of a tool by ids, as the command line does. */
import { displayedName } from '../../crypto/encoding/quoted.ts'
import { isWholeId } from '../naming/beginnings.ts'
import { type NamingTexts, newFinder } from '../naming/finder.ts'
import type { NamingApi } from '../naming/kinds.ts'
import { invalid } from '../input.ts'
import { isDestructive } from './list.ts'
import { type IdArgument, idsOf } from './parameters.ts'
import type { Tool } from './tool.ts'

type Args = Record<string, unknown>

const TEXTS: NamingTexts = {
  shown: displayedName,
  nameOf: ({ tool, command }) => tool ?? `"countersignd ${command}"`,
  again: 'Call the tool again',
}

/** Returns the finder of one call of a tool, or of one completion. */
export const finderOf = (api: NamingApi) => newFinder(api, TEXTS)

/**
 * The maximum number of names in a call, which is that of ids in a list. The time to find names
 * grows with their number and that of the items, and any token may give them to any tool.
 */
const MOST_NAMES = 200

/** A text in the arguments that must become an id. */
interface Named {
  readonly argument: IdArgument
  readonly text: string
  readonly put: (value: unknown) => void
}

/** Returns the texts in an argument, or in one member of it, that must become ids. */
function namedIn(holder: Args, key: string, argument: IdArgument): Named[] {
  const value = holder[key]
  // The row rejects an empty text, and an argument that is no text.
  if (Array.isArray(value))
    return Object.keys(value).flatMap((at) => namedIn(value as unknown as Args, at, argument))
  if (typeof value !== 'string' || value === '') return []
  // The row decides whether an id is of the right kind and exists.
  if (argument.toValue === undefined && isWholeId(value)) return []
  return [{ argument, text: value, put: (id) => void (holder[key] = id) }]
}

/** Returns the texts in arguments that must become ids, those in the path first. */
function namesIn({ route }: Tool, args: Args): Named[] {
  return idsOf(route)
    .filter(({ argument }) => argument.takes !== null)
    .flatMap(({ name, member, argument }) => {
      if (member === undefined) return namedIn(args, name, argument)
      const objects = [args[name]].flat().filter((one) => typeof one === 'object' && one !== null)
      return objects.flatMap((one) => namedIn(one as Args, member, argument))
    })
}

/**
 * Returns the arguments of a tool with ids in place of names; the same object if there are none.
 *
 * A tool that cannot be undone accepts no name that only other people claim, and neither does an
 * argument for the expected speaker.
 * @param openApi returns the calls that read the lists, with the rights of the caller
 * @throws AppError `not_found` or `conflict`; `validation_failed` for too many names
 */
export async function withIds(
  tool: Tool,
  given: Readonly<Args>,
  openApi: () => NamingApi,
): Promise<Readonly<Args>> {
  const { length } = namesIn(tool, given)
  if (length === 0) return given
  if (length > MOST_NAMES)
    throw invalid('body', [{ path: '', message: `Give at most ${MOST_NAMES} names.` }])
  const args = structuredClone(given)
  const finder = finderOf(openApi())
  for (const { argument, text, put } of namesIn(tool, args)) {
    const { takes, isOwnOnly = isDestructive(tool), toValue = (id: string) => id } = argument
    if (takes === null) continue
    // Members are those of the connection that the first parameter names.
    const { id: within } = args
    const search = {
      ...(typeof within === 'string' ? { within } : {}),
      isOwnOnly,
    }
    put(toValue(isWholeId(text) ? text : (await finder.find(takes, text, search)).id))
  }
  return args
}
