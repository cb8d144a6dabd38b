import type { Schemas } from '../data/api.ts'
import { messages } from '../text/text.tsx'

const KINDS = { verified: 'ok', not_verified: 'bad', inconclusive: 'warn', echo: 'warn' } as const

/** The outcome of a check of words. */
export const OutcomeBadge = ({ of }: { readonly of: Schemas['LogEntry']['outcome'] }) => (
  <span class="badge" data-kind={KINDS[of]}>
    {messages().log[of]}
  </span>
)
