import type { ComponentChildren } from 'preact'
import { awaySince } from '../../data/live.ts'
import { now } from '../../data/clock.ts'
import { filled, messages, timeShort } from '../../text/text.tsx'

/** Returns since when no state of the installation is known; null while the daemon answers. */
export function unknownText(): string | null {
  const since = awaySince.value
  if (since === null) return null
  const time = timeShort(new Date(since).toISOString(), now.value)
  return filled(messages().health.unknownSince, { time })
}

/** A state with its colour. It is grey and unknown while the daemon does not answer. */
export const StateBadge = (of: {
  readonly kind: 'ok' | 'warn' | 'bad'
  readonly children: ComponentChildren
}) => {
  const unknown = unknownText()
  return (
    <span class="badge" data-kind={unknown === null ? of.kind : undefined}>
      {unknown ?? of.children}
    </span>
  )
}
