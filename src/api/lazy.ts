/**
 * Loads the answers of a group at the first call, so that an idle daemon has only the code in
 * memory that it uses.
 */
import type { Route, Table } from './route.ts'

type Answer = (input: unknown, context: unknown) => Promise<unknown>
type Group = Readonly<Record<string, Answer>>

/**
 * Returns stand-ins for groups of answers.
 * @param table the rows
 * @param by restricts the rows to these answerers
 * @param loaders for each group, a function that loads its answers; called once
 */
export function lazily<A extends object>(
  table: Table,
  by: readonly Route['by'][],
  loaders: { readonly [N in keyof A]: () => Promise<A[N]> },
): A {
  const groups = Object.entries(loaders as Readonly<Record<string, () => Promise<Group>>>).map(
    ([groupName, load]) => {
      let here: Group | null = null
      let loading: Promise<Group> | null = null
      const loaded = async () => {
        try {
          return (here = await (loading ??= load()))
        } finally {
          // After a failure, such as an unreachable database, the next call loads again.
          loading = null
        }
      }
      const answers = Object.entries(table[groupName] ?? {}).flatMap(([name, route]) => {
        const from = (group: Group) => group[name] as Answer
        const answer: Answer = (input, context) =>
          here === null
            ? loaded().then((group) => from(group)(input, context))
            : from(here)(input, context)
        return by.includes(route.by) ? [[name, answer] as const] : []
      })
      return [groupName, Object.fromEntries(answers)] as const
    },
  )
  return Object.fromEntries(groups) as unknown as A
}
