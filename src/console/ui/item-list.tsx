import type { ComponentChildren } from 'preact'
import type { Resource } from '../data/resource.ts'
import { Loaded } from './page.tsx'

/**
 * A list of few items, each in a line with its buttons.
 * @param of `label`: the name of the list; `none`: shown if there are no items
 */
export const ItemList = <T,>(of: {
  readonly from: Resource<readonly T[]>
  readonly label: string
  readonly none: string
  readonly row: (item: T) => ComponentChildren
}) => (
  <Loaded from={of.from}>
    {(items) =>
      items.length === 0 ? (
        <p>{of.none}</p>
      ) : (
        <ul class="rows lines" aria-label={of.label}>
          {items.map(of.row)}
        </ul>
      )
    }
  </Loaded>
)
