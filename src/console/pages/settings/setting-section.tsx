import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** A part of the settings: on wide windows, its title and explanation are beside its content. */
export const SettingSection = (of: {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly children: ComponentChildren
}) => {
  const id = useId()
  return (
    <section class="card setting" aria-labelledby={id}>
      <div>
        <h2 id={id}>{of.title}</h2>
        {of.lead === undefined ? null : <p class="hint">{of.lead}</p>}
      </div>
      <div>{of.children}</div>
    </section>
  )
}
