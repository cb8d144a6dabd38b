/** The types of a row's texts: for documents, and for models that call the row as a tool. */
import type { ToolGroup } from '../../tools/tool.ts'
import type { Rest } from '../index.ts'

/**
 * A property of a tool that changes something.
 *
 * - `again`: repeating the call has another effect.
 * - `outside`: people outside the account are notified or can see the effect.
 * - `takes`: existing data is lost, or the operation cannot be undone.
 *
 * Adding data, suspending something temporarily, and replacing one text with another do not count.
 */
export type Trait = 'again' | 'outside' | 'takes'

export interface ToolText {
  /** A short title for users. */
  readonly title: string
  /**
   * The text from which a model chooses among all tools.
   *
   * It states what the tool does, when to use it instead of another tool, what must be done before,
   * and what cannot be undone.
   */
  readonly description: string
  /** Absent if the tool only reads. */
  readonly traits?: readonly Trait[]
}

export interface RowText {
  /** One line that states what the row does. */
  readonly summary: string
  /** What the summary does not state: who may call the row, its effects, its cost. */
  readonly description: string
  /**
   * How an account server's answer differs from a daemon's.
   *
   * Rows with this text are included in the document for authors of clients.
   */
  readonly onAccountServer?: string
  /** Absent if the row is not a tool. */
  readonly tool?: ToolText
}

type Documented = Omit<RowText, 'tool'>
type ToolTextOf<R> = R extends { method: 'GET' } ? Omit<ToolText, 'traits'> : Required<ToolText>

/**
 * The texts of some groups.
 *
 * A missing or superfluous text does not compile. Each row in a group with tools must have a tool
 * text, and each tool that changes something must have traits.
 */
export type Texts<G extends keyof Rest> = {
  readonly [N in G]: {
    readonly [R in keyof Rest[N]]: N extends ToolGroup
      ? Documented & { readonly tool: ToolTextOf<Rest[N][R]> }
      : Documented
  }
}

/** Returns a group's name for display: `orgMembers` becomes "Org members". */
export function displayNameOf(group: string): string {
  const words = group.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}
