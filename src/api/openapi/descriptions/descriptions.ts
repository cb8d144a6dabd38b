import type { Rest } from '../../rest/index.ts'

/** One text per row: a missing or a surplus one does not compile. */
export type Descriptions<T = Rest> = {
  readonly [G in keyof T]: { readonly [R in keyof T[G]]: string }
}
