import { messages } from '../../text/text.tsx'
import { PageFrame } from '../../ui/page.tsx'

/** Placeholder of this branch. */
export default function NeedsPage() {
  return <PageFrame title={messages().frame.needs}>{null}</PageFrame>
}
