import type { ComponentChildren } from 'preact'

/** A message with a colour. Screen readers announce it when it appears. */
export const NoticeBox = ({
  kind,
  children,
}: {
  readonly kind: 'ok' | 'warn' | 'bad'
  readonly children: ComponentChildren
}) => (
  <div class="notice" data-kind={kind} role={kind === 'bad' ? 'alert' : 'status'}>
    {children}
  </div>
)
