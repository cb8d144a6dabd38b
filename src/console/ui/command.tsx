/** A command for a terminal, with a button that copies it. */
import { Copyable } from './copyable.tsx'

export const CommandText = ({ of }: { readonly of: string }) => (
  <Copyable label={of} value={of}>
    <code translate={false}>{of}</code>
  </Copyable>
)
