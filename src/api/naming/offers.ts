/** The names that are offered for completion. */
import { comparableName } from '../../crypto/encoding/display-names.ts'
import { UNSHOWABLE } from '../../crypto/encoding/quoted.ts'
import type { NamedItem } from './kinds.ts'

/** Characters that a name must not have to be typed: unseen ones, and a dash at its begin. */
const untypable = () => new RegExp(String.raw`^-|\p{Cf}|[${UNSHOWABLE}]`, 'u')

/** The maximum length of a name. */
const LONGEST = 60

/** Returns what to type for each item: its name, or its id if the name is unsafe or not unique. */
export function offersFor(items: readonly NamedItem[]): string[] {
  const current = items.filter(({ isPast }) => isPast !== true)
  const nameOf = ({ names, claims = [] }: NamedItem) => names[0] ?? claims[0] ?? ''
  const counts = Map.groupBy(current, (item) => comparableName(nameOf(item)))
  const unsafe = untypable()
  return current.map((item) => {
    const name = nameOf(item)
    const comparable = comparableName(name)
    const isUnique = comparable !== '' && counts.get(comparable)?.length === 1
    return isUnique && name.length <= LONGEST && !unsafe.test(name) ? name : item.id
  })
}
