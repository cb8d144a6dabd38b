import type { ComponentChildren } from 'preact'

/** Called after the user settled a need, with a sentence about the result. */
export type Settle = (result: ComponentChildren) => void

/** One thing that needs the user. */
export const NeedCard = (of: {
  readonly title: ComponentChildren
  /** Facts in one line, such as the sender and a time. */
  readonly facts?: ComponentChildren
  readonly children: ComponentChildren
}) => (
  <li class="card need">
    <h2>{of.title}</h2>
    {of.facts === undefined ? null : <p class="facts">{of.facts}</p>}
    {of.children}
  </li>
)
