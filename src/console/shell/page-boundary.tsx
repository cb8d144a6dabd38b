/** Keeps the navigation if a page cannot be rendered. */
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks'
import { messages } from '../text/text.tsx'

/**
 * Shows a page, or a message if the page throws while it is rendered.
 * @param of `place`: where the page is; another place tries again
 */
export const PageBoundary = (of: {
  readonly place: string
  readonly children: ComponentChildren
}) => {
  const [error, reset] = useErrorBoundary((thrown) => reportError(thrown)) as [unknown, () => void]
  const shownAt = useRef(of.place)
  useEffect(() => {
    // Not at the first place: the page can throw before this runs, which would remove the message.
    if (shownAt.current !== of.place) reset()
    shownAt.current = of.place
  }, [of.place])
  return error === undefined ? (
    <>{of.children}</>
  ) : (
    <p role="alert">{messages().frame.pageBroken}</p>
  )
}
