/** The names of the tokens, for lists that have only their ids. */
import { computed, type ReadonlySignal } from '@preact/signals'
import { sessionScope } from '../session/session.ts'
import { allItems, api, dataOf } from './api.ts'
import { newResource, useShared, type Resource } from './resource.ts'

type TokenNames = ReadonlyMap<string, string>

const names: Resource<TokenNames> = newResource(async () => {
  // Without the scope, a request would be one more refusal in the audit log.
  if (sessionScope.value !== 'full') return tokenNames.peek()
  const tokens = await allItems((query) =>
    dataOf(api.GET('/api/v1/api-tokens', { params: { query } })),
  )
  return new Map(tokens.map(({ id, name }) => [id, name]))
})

const NONE: TokenNames = new Map()

/**
 * The names of the tokens by id; empty without the scope `full`, which their list needs. Then the
 * lists show the ends of the ids.
 */
export const tokenNames: ReadonlySignal<TokenNames> = computed(() => names.data.value ?? NONE)

/** Reads the names of the tokens for a component, and again after changes. */
export function useTokenNames(): void {
  useShared(names, ['token.*'])
}
