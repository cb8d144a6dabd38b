/** The names of the tokens, for lists that have only their ids. */
import { computed, signal, type ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { sessionScope } from '../session/session.ts'
import { allItems, api, dataOf } from './api.ts'
import { isOfType, onLiveEvent } from './live.ts'

const namesNow = signal<ReadonlyMap<string, string>>(new Map())

/** The names of the tokens by id; empty without the scope `full`, which their list needs. */
export const tokenNames: ReadonlySignal<ReadonlyMap<string, string>> = computed(
  () => namesNow.value,
)

async function readNames(): Promise<void> {
  if (sessionScope.value !== 'full') return
  try {
    const tokens = await allItems((query) =>
      dataOf(api.GET('/api/v1/api-tokens', { params: { query } })),
    )
    namesNow.value = new Map(tokens.map(({ id, name }) => [id, name]))
  } catch {
    // Without names, the lists show the ends of the ids.
  }
}

/** Reads the names of the tokens for a component, and again after changes. */
export function useTokenNames(): void {
  useEffect(() => {
    void readNames()
    return onLiveEvent((event) => {
      if (isOfType(event, ['token.*'])) void readNames()
    })
  }, [])
}
