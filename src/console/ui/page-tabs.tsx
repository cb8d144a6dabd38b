/** The parts of a page, as links. */
export const PageTabs = (of: {
  readonly label: string
  readonly tabs: readonly {
    readonly href: string
    readonly text: string
    readonly isCurrent: boolean
  }[]
}) => (
  <nav class="tabs" aria-label={of.label}>
    {of.tabs.map(({ href, text, isCurrent }) => (
      <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
        {text}
      </a>
    ))}
  </nav>
)
