/** A list that a component reads page by page, current after events. */
import { signal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ApiFailure } from './api.ts'
import { firstStreamOpen, onLiveEvent } from './live.ts'
import { failureOf } from './resource.ts'

interface PageOfItems<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

/** A list with the pages that were read so far. */
export interface PagedList<T> {
  /** The items that were read; undefined until the first page was. */
  readonly items: ReadonlySignal<readonly T[] | undefined>
  readonly failure: ReadonlySignal<ApiFailure | null>
  /** Whether there are more items than those that were read. */
  readonly hasMore: ReadonlySignal<boolean>
  readonly isReading: ReadonlySignal<boolean>
  /** Reads pages until there are enough more items that fit, but not very many pages. */
  readonly more: () => Promise<void>
  /** Reads the first page again. Items of further pages stay. */
  readonly refresh: () => Promise<void>
}

interface PagedSource<T> {
  readonly read: (cursor: { readonly cursor?: string }) => Promise<PageOfItems<T>>
  readonly keyOf: (item: T) => string
  /** Whether an item is shown. `items` has only such items. */
  readonly fits: (item: T) => boolean
  /** How many items that fit a call of `more` reads at least. */
  readonly wanted: number
}

/** How many pages are read at once at most, if few items fit. */
const MOST_PAGES = 10

function newPagedList<T>({ read, keyOf, fits, wanted }: PagedSource<T>): PagedList<T> {
  const items = signal<readonly T[] | undefined>(undefined)
  const failure = signal<ApiFailure | null>(null)
  const hasMore = signal(false)
  const isReading = signal(false)
  let cursor: string | null = null
  /** The items of the newest first page, also those that do not fit. */
  let firstKeys: readonly string[] = []
  /**
   * The reading under way. Readings follow each other, because each begins at a cursor. The first
   * one follows the opening of the stream: an event before that is missed.
   */
  let last = firstStreamOpen

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    last = last.then(async () => {
      isReading.value = true
      try {
        await work()
        failure.value = null
      } catch (error) {
        failure.value = failureOf(error)
      } finally {
        isReading.value = false
      }
    })
    return last
  }

  function add(page: PageOfItems<T>): void {
    items.value = [...(items.value ?? []), ...page.items.filter(fits)]
    cursor = page.next_cursor
    hasMore.value = cursor !== null
  }

  /** Reads on until enough items fit. */
  async function readOn(): Promise<void> {
    const enough = (items.value?.length ?? 0) + wanted
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      add(await read(cursor === null ? {} : { cursor }))
      if (cursor === null || items.value!.length >= enough) return
    }
  }

  async function readFirst(): Promise<void> {
    const page = await read({})
    const keys = page.items.map(keyOf)
    const found = new Set(keys)
    const before = items.value
    // Without a common item, other items are missing between the page and the earlier ones.
    const isJoined = firstKeys.some((key) => found.has(key))
    firstKeys = keys
    if (before !== undefined && isJoined) {
      const rest = before.filter((item) => !found.has(keyOf(item)))
      items.value = [...page.items.filter(fits), ...rest]
      return
    }
    items.value = []
    add(page)
    if (cursor !== null && items.value.length < wanted) await readOn()
  }

  return {
    items,
    failure,
    hasMore,
    isReading,
    more: () => inTurn(readOn),
    refresh: () => inTurn(readFirst),
  }
}

/** A list with what a component shows. */
export interface ShownPages<T> extends PagedList<T> {
  /** The items, or until they are read those of the list before it that fit. */
  readonly shown: readonly T[] | undefined
}

/**
 * Returns a list for a component, which is read again after events of these types.
 * @param key what `source` depends on; `source` must not change while `key` is the same
 */
export function usePagedList<T>(
  key: string,
  source: PagedSource<T>,
  types: readonly string[],
): ShownPages<T> {
  const list = useMemo(() => newPagedList(source), [key])
  const last = useRef<readonly T[] | undefined>(undefined)
  if (list.items.value !== undefined) last.current = list.items.value
  useEffect(() => {
    void list.refresh()
    return onLiveEvent(types, () => void list.refresh())
  }, [list])
  return { ...list, shown: list.items.value ?? last.current?.filter(source.fits) }
}
