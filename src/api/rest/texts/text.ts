/** The texts of a row of *rest*: those of the documents, and those for models. */
import type { ToolGroup } from '../../tools/tool.ts'
import type { Rest } from '../index.ts'

/**
 * A property of a tool that changes something. `again`: repeating the call has a further effect.
 * `outside`: people outside the account are notified, or can see the effect. `takes`: existing
 * data is lost, or the operation cannot be undone. Adding data, suspending something for a while,
 * and replacing one text by another do not count.
 */
export type Trait = 'again' | 'outside' | 'takes'

export interface ToolText {
  /** A short title for users. */
  readonly title: string
  /**
   * The text by which a model chooses among all tools: what the tool does, when to use it rather
   * than another, what has to precede it, and what cannot be undone.
   */
  readonly description: string
  /** Absent for a tool that only reads. */
  readonly traits?: readonly Trait[]
}

export interface RowText {
  /** What the row does, in one line. */
  readonly summary: string
  /** What the summary leaves out: who may call the row, its effects, its cost. */
  readonly description: string
  /**
   * How the answer of an account server differs from a daemon's. The document for authors of
   * clients has the rows with this text.
   */
  readonly onAccountServer?: string
  /** Absent for a row that is no tool. */
  readonly tool?: ToolText
}

type Documented = Omit<RowText, 'tool'>
type ToolTextOf<R> = R extends { method: 'GET' } ? Omit<ToolText, 'traits'> : Required<ToolText>

/**
 * The texts of some groups. A missing or a surplus one does not compile: each row of a group with
 * tools has the text of its tool, and each tool that changes something has its traits.
 */
export type Texts<G extends keyof Rest> = {
  readonly [N in G]: {
    readonly [R in keyof Rest[N]]: N extends ToolGroup
      ? Documented & { readonly tool: ToolTextOf<Rest[N][R]> }
      : Documented
  }
}
